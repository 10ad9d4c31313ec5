"""Write varied models as ONNX files, load and run each in several releases of ONNX Runtime, and print a table.

    python -m tests.versions.runtimes [--models PATTERN] [--environments FOLDER] [--write]

Each release is installed, with NumPy alone, in an environment of its own, which is kept for the next time. What it
gives must agree with what the source gives by the bounds that the file's operators declare; integers, booleans and
strings must be equal. The table of kernels in trueport/backends/onnx/oldest.py is compared with the oldest release.
``--write`` puts the table into docs/runtimes.md. Ends with 1 if a file that must run does not.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir

import trueport
from tests.versions.kernels import missing_kernels
from tests.versions.runtime_models import MODELS, Source
from trueport.backends.tensorflow.registry import registry as onnx_operators
from trueport.fidelity import Verdict
from trueport.sources.open import open_source, options_of
from trueport.verifying.judge.budget import allowed_ulps
from trueport.verifying.judge.summed_bounds import compare_outputs

RELEASES: Mapping[str, str] = {"1.20": "==1.20.*", "1.22": "==1.22.*", "1.24": "==1.24.*", "newest": ""}
"""By name: what pip is asked for."""
ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "runtimes.md"
MARKS = ("<!-- table -->", "<!-- end of table -->")
AGREES = "agrees"
TOO_NEW = "too new"


@dataclass(frozen=True)
class Written:
    """A model that was written, and what its source gives."""

    opset: int
    ir_version: int
    allowed: float
    """units in the last place that the declared bounds of its operators add up to"""
    want: Sequence[Any]
    needs: str
    """what the report says of nodes that older runtimes lack"""


def main() -> int:
    arguments = _parsed()
    chosen = {name: source for name, source in MODELS.items() if re.search(arguments.models, name)}
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "files")
        written = {name: write(source, files / name) for name, source in chosen.items()}
        columns: dict[str, dict[str, str]] = {}
        for name, wish in RELEASES.items():
            python = environment(arguments.environments / name, wish)
            version, cells = outcomes(python, files, Path(folder, name), written)
            columns[version] = cells
    table = rendered(chosen, written, columns)
    print(table)
    if arguments.write:
        before, rest = PAGE.read_text("utf-8").split(MARKS[0])
        PAGE.write_text(f"{before}{MARKS[0]}\n\n{table}\n\n{MARKS[1]}{rest.split(MARKS[1])[1]}", "utf-8")
    oldest = environment(arguments.environments / "1.20", RELEASES["1.20"])
    bad = [f"trueport/backends/onnx/oldest.py: 1.20 has no kernel for {kernel}" for kernel in missing_kernels(oldest)]
    newest = next(reversed(columns))
    bad += [
        f"{name} in ONNX Runtime {version}: {cell}"
        for version, cells in columns.items()
        for name, cell in cells.items()
        if cell != AGREES and (cell != TOO_NEW or not chosen[name].too_new or version == newest)
    ]
    print("\n".join(bad), file=sys.stderr)
    return int(bool(bad))


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="", help="a regular expression")
    parser.add_argument(
        "--environments", type=Path, default=ROOT / "bench" / ".cache" / "runtimes", help="where they are kept"
    )
    parser.add_argument("--write", action="store_true", help="put the table into docs/runtimes.md")
    return parser.parse_args()


def write(source: Source, folder: Path) -> Written:
    """Convert a model, and leave the file and what it is fed in a folder."""
    model = source.make()
    made = trueport.convert(model, to="onnx", verify=False, **source.options)
    folder.mkdir(parents=True)
    made.save(folder / "model.onnx")
    names = [port.name for port in made.report.inputs]
    feeds = dict(zip(names, source.inputs(), strict=True))
    np.savez(folder / "feeds.npz", **feeds)
    opened = open_source(model, options={n: v for n, v in source.options.items() if n in options_of(model)})
    plain = {name: array.astype(object) if array.dtype.kind == "U" else array for name, array in feeds.items()}
    want = opened.runs()[0].run(plain)
    written = ir.load(folder / "model.onnx")
    needs = "; ".join(remark.because for remark in made.report.remarks if remark.rule == "newer-runtime")
    return Written(
        written.opset_imports[""],
        written.ir_version,
        allowed_ulps(written, onnx_operators()),
        list(want.values()),
        needs,
    )


def environment(folder: Path, wish: str) -> Path:
    """Return the Python of an environment with one release of ONNX Runtime, made if it is not there."""
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not (folder / "ready").exists():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", f"onnxruntime{wish}", "numpy"], check=True)
        (folder / "ready").touch()
    return python


def outcomes(python: Path, files: Path, results: Path, written: Mapping[str, Written]) -> tuple[str, dict[str, str]]:
    """Run all files in one environment: its release, and by model what came of it."""
    results.mkdir()
    script = Path(__file__).with_name("run_files.py")
    ran = subprocess.run([python, script, files, results], check=True, capture_output=True, text=True)
    errors = json.loads((results / "errors.json").read_text("utf-8"))
    cells = {
        name: _refused(errors[name]) if name in errors else _compared(results / f"{name}.npz", model)
        for name, model in written.items()
    }
    return ran.stdout.split()[-1], cells


def _refused(error: str) -> str:
    is_new = "under development" in error or "Unsupported model IR version" in error or "NOT_IMPLEMENTED" in error
    return TOO_NEW if is_new else error[:200]


def _compared(results: Path, written: Written) -> str:
    with np.load(results) as made:
        got = [made[str(index)] for index in range(len(made.files))]
    for index, (want, have) in enumerate(zip(written.want, got, strict=True)):
        wanted = np.asarray(want)
        wanted = wanted.astype(str) if wanted.dtype == object else wanted
        found = compare_outputs(f"output {index}", wanted, have, written.allowed)
        if found.verdict != Verdict.FAITHFUL:
            return f"{found.name} differs: {found.why or f'{found.needed_ulps:.3g} of {found.allowed_ulps:.3g} ulp'}"
    return AGREES


def rendered(
    chosen: Mapping[str, Source], written: Mapping[str, Written], columns: Mapping[str, Mapping[str, str]]
) -> str:
    """Render the table, and below it the reasons of those that are too new for some."""
    lines = [
        f"| model | of | opset | IR | {' | '.join(columns)} |",
        f"| --- | --- | --- | --- |{' --- |' * len(columns)}",
    ]
    for name, source in chosen.items():
        cells = " | ".join(column[name] for column in columns.values())
        lines.append(f"| {name} | {source.kind} | {written[name].opset} | {written[name].ir_version} | {cells} |")
    reasons = [f"- `{name}`: {source.too_new}." for name, source in chosen.items() if source.too_new]
    return "\n".join([*lines, "", *reasons])


if __name__ == "__main__":
    sys.exit(main())
