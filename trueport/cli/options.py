"""Words of the command line that say how a source is taken, as the library's options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trueport.errors import UsageError

__all__ = ["source_options"]

_NAMES = ("inputs", "outputs", "inputs_as_nchw", "outputs_as_nchw")
_PLAIN = ("opset", "signature", "external_data", "extensions", "custom_domain", "trust")
_OF_MODULES = {"example": "example_inputs", "dynamic": "dynamic_shapes"}


def source_options(words: Mapping[str, Any]) -> dict[str, Any]:
    """Only what was given: an option that a source does not have is an error there."""
    found = {name: words[name] for name in _PLAIN if words.get(name) not in (None, False)}
    found |= {name: words[name].split(",") for name in _NAMES if words.get(name)}
    found |= {option: words[word] for word, option in _OF_MODULES.items() if words.get(word)}
    if words.get("shape"):
        found["shapes"] = dict(_shape(word) for word in words["shape"])
    return found


def _shape(word: str) -> tuple[str, Sequence[int | None]]:
    name, equals, dims = word.rpartition("=")
    try:
        if not (equals and name):
            raise ValueError(word)
        return name, [
            None if dim.strip() in ("?", "-1", "None") else int(dim) for dim in dims.split(",") if dim.strip()
        ]
    except ValueError as error:
        raise UsageError(
            f"{word!r} is no shape", where="--shape", remedy="write NAME=1,224,224,3; ? leaves a dim open"
        ) from error
