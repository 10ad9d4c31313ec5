"""Models converted under one setting and run under another: those of the benchmarks, and real ones from packages.

    python -m tests.machines.models convert      # once, under any setting: SavedModels, references, noise
    python -m tests.machines.models              # under each setting: run all, judge by the stored references

The references come with the conversions: the float64 reference of the source, its noise and its own runs, which do not
depend on the setting under which the SavedModel is run.
"""

from __future__ import annotations

import os
import pickle
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import trueport
from bench.models import CACHE, CATALOGUE
from tests.machines.settings import print_failures
from tests.real.models import MODELS, fetch
from trueport.backends.tensorflow.registry import registry
from trueport.errors import NoOracle
from trueport.fidelity import Verdict
from trueport.frontends.onnx.load import load_onnx
from trueport.reference.onnx.oracle import OnnxOracle
from trueport.sources.open import open_source
from trueport.verifying.judge.budget import allowed_ulps
from trueport.verifying.judge.output import judge
from trueport.verifying.judge.summed_bounds import compare_outputs

__all__ = ["convert", "failures"]

FOLDER = Path(os.environ.get("TRUEPORT_MACHINES", CACHE / "machines"))


def sources() -> Iterator[tuple[str, Path, list[Mapping[str, Any]]]]:
    """Yield name, file and samples of every model."""
    for bench in CATALOGUE:
        yield bench.name, bench.file(CACHE), [bench.sample()]
    for real in MODELS:
        if not real.slow:
            yield real.name.replace(":", "-"), fetch(real), real.feeds(np.random.default_rng(0))[:2]


def convert() -> None:
    """Convert every model that is not there yet, and store what it is judged by."""
    for name, path, samples in sources():
        place = FOLDER / name
        if (place / "expected.pickle").exists():
            continue
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        trueport.convert_file(path, place / "saved_model", verify=False)
        expected = [_expected(path, feeds) for feeds in samples]
        (place / "expected.pickle").write_bytes(pickle.dumps(expected))
        print(f"converted {name}", file=sys.stderr, flush=True)


def _expected(path: Path, feeds: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return inputs, runs of the source, float64 reference and noisy runs; where a node has none, the summed bounds."""
    runs = [model.run(feeds) for model in open_source(path).runs()]
    oracle = OnnxOracle(load_onnx(path), registry())
    try:
        truth, noisy = oracle.run(feeds)
    except NoOracle:
        return feeds, runs, None, allowed_ulps(load_onnx(path), registry())
    return feeds, runs, truth, noisy


def failures(names: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
    """Run the named models here, or all that are converted; yield each name and "" or what is wrong."""
    folders = [FOLDER / name for name in names] or [path.parent for path in FOLDER.glob("*/expected.pickle")]
    for place in sorted(folders):
        model = trueport.load(place / "saved_model")
        wrong = []
        for feeds, runs, truth, noise in pickle.loads((place / "expected.pickle").read_bytes()):
            try:
                got = model.run(feeds)
            except Exception as error:  # whatever a model dies of is its result
                wrong.append(" ".join(f"{type(error).__name__}: {error}".split())[-300:])
                continue
            found = [_judged(name, got[name], runs, truth, noise) for name in got]
            wrong += [f"{output.name}: {output.why}" for output in found if output.verdict != Verdict.FAITHFUL]
        yield place.name, "; ".join(wrong[:3])


def _judged(name: str, got: Any, runs: list[Any], truth: Mapping[str, Any] | None, noise: Any) -> Any:
    """Judge one output as `verify` does: by the reference and the noisy runs, or by the summed bounds."""
    if truth is None:
        return compare_outputs(name, runs[0][name], got, noise)
    return judge(name, [run[name] for run in runs], got, truth[name], [run[name] for run in noise])


def main(arguments: list[str]) -> int:
    """Convert, or run and print what fails; return the number of failures."""
    if arguments == ["convert"]:
        convert()
        return 0
    return print_failures(failures())


if __name__ == "__main__":
    raise SystemExit(bool(main(sys.argv[1:])))
