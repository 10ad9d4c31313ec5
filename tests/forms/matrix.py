"""Every source with every target: what each command does with them, for docs/forms.md.

python -m tests.forms.matrix write
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import trueport
from tests.installs.models import write_models
from trueport.errors import UsageError
from trueport.fidelity import UNSUPPORTED, Verdict
from trueport.sources.open import KINDS, describe

__all__ = ["PAGE", "SOURCES", "TARGETS", "cells", "page"]

PAGE = Path(__file__).parents[2] / "docs" / "forms.md"
SOURCES = {
    "ONNX": "model.onnx",
    "SavedModel": "saved",
    "Keras": "model.keras",
    "PyTorch": "model.pt2",
    "TFLite": "model.tflite",
}
TARGETS = {kind.form: f"made{kind.ending}" for kind in KINDS if kind.target}
WORKS, REFUSED = "yes", "refused"
_HEAD = """# Sources and targets

What each command does with every form, as it was seen with one small model in all of them. *refused*: the command says
in one line why not, and what to do instead. Printed by `python -m tests.forms.matrix write`.
"""


def _outcome(act: Callable[[], bool]) -> str:
    """What became of a command; any error but a `UsageError` is a fault, and raised."""
    try:
        return WORKS if act() else "wrong"
    except UsageError as error:
        assert error.why and error.remedy, error
        return REFUSED


def _converted(source: Path, form: str, place: Path) -> bool:
    return trueport.convert_file(source, place / TARGETS[form]).verdict == Verdict.FAITHFUL


def _checked(source: Path, form: str) -> bool:
    return trueport.check(source, form).fidelity < UNSUPPORTED


def _verified(source: Path, target: Path) -> bool:
    # A captured PyTorch program has the sizes of its example, be it the source or what the target was made of.
    return (
        trueport.verify(source, target, allow=["dims"] if ".pt2" in (source.suffix, target.suffix) else ()).verdict
        == Verdict.FAITHFUL
    )


def _located(source: Path, target: Path) -> bool:
    return trueport.locate(source, target).culprit is None


def _ran(source: Path, x: np.ndarray) -> bool:
    model = trueport.load(source)
    (made,) = model.run({model.inputs[0].name: x}).values()
    return bool(np.asarray(made).shape == (2, 2))


def cells(folder: Path) -> Iterator[tuple[str, str, str, str]]:
    """Yield source, command, target (empty where there is none) and outcome; the models are made in a folder."""
    write_models(folder)
    x = np.load(folder / "x.npy")
    for name, file in SOURCES.items():
        source = folder / file
        yield name, "info", "", _outcome(lambda source=source: bool(describe(source)["inputs"]))  # type: ignore[misc]
        yield name, "run", "", _outcome(lambda source=source: _ran(source, x))  # type: ignore[misc]
        for form in TARGETS:
            place = folder / f"{name}-{form}"
            place.mkdir()
            yield name, "check", form, _outcome(lambda s=source, f=form: _checked(s, f))  # type: ignore[misc]
            yield name, "convert", form, _outcome(lambda s=source, f=form, p=place: _converted(s, f, p))  # type: ignore[misc]
        for other, made in SOURCES.items():
            target = folder / made
            yield name, "verify", other, _outcome(lambda s=source, t=target: _verified(s, t))  # type: ignore[misc]
            yield name, "locate", other, _outcome(lambda s=source, t=target: _located(s, t))  # type: ignore[misc]


def page(found: list[tuple[str, str, str, str]]) -> str:
    """The page's text."""
    by = {(source, command, target): outcome for source, command, target, outcome in found}
    parts = [_HEAD]
    for command in ("convert", "check", "verify", "locate"):
        columns = [target for source, name, target, _ in found if name == command and source == "ONNX"]
        parts.append(f"\n## {command}\n\n| source | {' | '.join(columns)} |\n| --- |{' --- |' * len(columns)}\n")
        parts += [f"| {s} | {' | '.join(by[s, command, t] for t in columns)} |\n" for s in SOURCES]
    parts.append("\n## info, run\n\n| source | info | run |\n| --- | --- | --- |\n")
    parts += [f"| {s} | {by[s, 'info', '']} | {by[s, 'run', '']} |\n" for s in SOURCES]
    return "".join(parts)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        text = page(list(cells(Path(place))))
    print(text)
    if sys.argv[1:] == ["write"]:
        PAGE.write_text(text, encoding="utf-8")
