"""Archives of PyTorch: without trust only tensors and JSON are read, and programs only call operators that compute."""

from __future__ import annotations

import io
import os
import re
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trueport.consent.archives import parse_json, read_member
from trueport.consent.refusing import refuse_without_trust
from trueport.consent.torch_program import reasons_against
from trueport.lazy import LazyModule

__all__ = ["check_exported", "is_exported", "tensors_only"]

torch: Any = LazyModule("torch", "PyTorch", "torch")
# PyTorch takes every member of the folder models/ for a program, whatever its name ends in.
_PROGRAM = re.compile(r"[^/]+/models/.+|([^/]+/)?serialized_exported_program\.json", re.IGNORECASE)
_PAYLOADS = re.compile(r"(.*/)?data/(weights|constants)/.*config[^/]*\.json", re.IGNORECASE)
_PICKLED = re.compile(
    r"(.*/)?(serialized_(state_dict|constants|example_inputs)\..*|data/sample_inputs/.*|.*\.(pt|pth|pkl))"
)
_RAW = re.compile(r"(.*/)?data/(weights|constants)/(weight|tensor)_\d+")
_OBJECTS = ("opaque_obj_", "custom_obj_")
_COMPILED = re.compile(r"(.*/)?data/(aotinductor|executorch)/.*|.*\.(so|dll|dylib|cubin|pyd)", re.IGNORECASE)
_MAGICS = (b"PK\x03\x04", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
_FORCE = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"


def is_exported(names: Sequence[str]) -> bool:
    """True if an archive with these members is one of torch.export.save."""
    return any(_PROGRAM.fullmatch(name) for name in names)


def check_exported(path: Path, names: Sequence[str]) -> None:
    """Refuse a file of torch.export.save that holds more than tensors and a program of operators that compute."""
    with zipfile.ZipFile(path) as archive:
        refuse_without_trust(path, list(_reasons(archive, names, str(path))))


@contextmanager
def tensors_only() -> Iterator[None]:
    """Keep torch.load from unpickling anything but tensors, whatever its callers ask for."""
    before = os.environ.get(_FORCE)
    os.environ[_FORCE] = "1"
    try:
        yield
    finally:
        os.environ.pop(_FORCE)
        if before is not None:
            os.environ[_FORCE] = before


def _reasons(archive: zipfile.ZipFile, names: Sequence[str], where: str) -> Iterator[str]:
    pickled, objects = set(), set()
    for name in names:
        if _PROGRAM.fullmatch(name):
            yield from reasons_against(parse_json(read_member(archive, name, where), where, name))
        elif _PAYLOADS.fullmatch(name):
            payloads = _payloads(parse_json(read_member(archive, name, where), where, name))
            pickled |= {_last(path) for path, by_pickle in payloads if by_pickle}
            objects |= {path for path, _ in payloads if path.startswith(_OBJECTS)}
    for name in names:
        own = _last(name)
        if _PROGRAM.fullmatch(name) or _PAYLOADS.fullmatch(name):
            continue
        if _COMPILED.fullmatch(name):
            yield f"member {name!r} is compiled code, which would be loaded"
        elif any(part.casefold().startswith(_OBJECTS) for part in name.split("/")):
            yield f"member {name!r} is a pickled Python object, which would run code when it is read"
        elif own in pickled or _PICKLED.fullmatch(name) or (not _RAW.fullmatch(name) and _looks_pickled(archive, name)):
            yield from _unless_tensors(read_member(archive, name, where), name)
    known = {_last(name) for name in names}
    yield from (f"a constant {path!r} is a Python object" for path in sorted(objects) if _last(path) not in known)


def _payloads(config: Any) -> list[tuple[str, bool]]:
    """Return the members that a configuration names, and whether each is a pickle."""
    payloads = config.get("config", {}) if isinstance(config, dict) else {}
    found = [item for item in payloads.values() if isinstance(item, dict)] if isinstance(payloads, dict) else []
    return [(str(item.get("path_name")), bool(item.get("use_pickle"))) for item in found]


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _looks_pickled(archive: zipfile.ZipFile, name: str) -> bool:
    with archive.open(name) as member:
        return member.read(4).startswith(_MAGICS)


def _unless_tensors(content: bytes, name: str) -> Iterator[str]:
    if not content:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about protocols of pickles, which are refused anyway
            torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except Exception:  # pickle's own types, and PyTorch's, for whatever is not a tensor
        yield f"member {name!r} is a pickled Python object, which would run code when it is read"
