"""How many of the faults are reached by the inputs that `trueport.verify` makes, and what finding the sizes costs."""

from __future__ import annotations

import argparse
import multiprocessing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.faults.hidden.fault import differ
from bench.faults.sizes.cases import CASES, PARTS, SizeCase, select_part
from trueport.frontends.onnx.load import load_onnx
from trueport.reference.base import NoReference, Oracle
from trueport.reference.onnx.oracle import OnnxOracle
from trueport.runtimes.base import Model
from trueport.runtimes.onnxruntime import OnnxRuntimeModel
from trueport.verifying.inputs.feeding import Feeding, feed
from trueport.verifying.inputs.pairing import PairedModel, pair

__all__ = ["main"]


class _Hidden(Model):
    """A model that shows no graph."""

    runtime = "function"

    def __init__(self, model: Model) -> None:
        self._model, self.inputs, self.outputs = model, model.inputs, model.outputs

    def _run(self, feeds: Mapping[str, Any], fetch: list[str] | None) -> dict[str, Any]:
        return self._model.run(feeds, fetch=fetch)


@dataclass(frozen=True)
class _Result:
    outcome: str
    taken: int = 0
    samples: int = 0
    runs: int = 0
    shapes: str = ""


def _reach(case: SizeCase, samples: int | None) -> _Result:
    source, target = case.make()
    plain: Model = OnnxRuntimeModel(source, optimize=False)
    deployed: Model = OnnxRuntimeModel(target)
    oracle: Oracle = OnnxOracle(load_onnx(source))
    if case.blind:
        plain, deployed, oracle = _Hidden(plain), _Hidden(deployed), NoReference("a function")
    paired = PairedModel(deployed, pair(plain.inputs, deployed.inputs, "inputs"), [])
    counted, original = [0], plain.run

    def run(feeds: Mapping[str, Any], **options: Any) -> dict[str, Any]:
        counted[0] += 1
        return original(feeds, **options)

    plain.run = run  # type: ignore[method-assign]
    fed = list(feed(Feeding(samples=samples), plain, paired, oracle))
    reached = taken = 0
    for feeds in fed:
        try:
            reached += differ(source, target, feeds)
            taken += 1
        except Exception:  # any of ONNX Runtime's own error types: the source does not take it
            continue
    shapes = " ".join(sorted({str([list(np.shape(v)) for v in feeds.values()]) for feeds in fed}))
    return _Result("reached" if reached else "not reached", taken, len(fed), counted[0], shapes)


def _work(case: SizeCase, samples: int | None, connection: Any) -> None:
    connection.send(_reach(case, samples))


def _in_child(case: SizeCase, samples: int | None) -> _Result:
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=_work, args=(case, samples, theirs))
    child.start()
    theirs.close()
    try:
        return ours.recv()  # type: ignore[no-any-return]
    except EOFError:
        return _Result("the process died")
    finally:
        child.join()


def main() -> None:
    """Print a line per case and the sums."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, default="mend")
    parser.add_argument("--samples", type=int)
    parser.add_argument("--case")
    asked = parser.parse_args()
    cases = [c for c in CASES if c.name == asked.case] if asked.case else select_part(asked.part)
    results = [(case, _in_child(case, asked.samples)) for case in cases]
    for case, result in results if asked.part != "report" else ():
        print(f"{result.outcome:16} {case.name:32} {result.taken}/{result.samples} runs {result.runs} {result.shapes}")
    reached = sum(result.outcome == "reached" for _, result in results)
    died = sum(result.outcome == "the process died" for _, result in results)
    runs = sum(result.runs for _, result in results)
    print(f"{asked.part}: {reached} of {len(results)} reached, {died} died, {runs} runs of the source for the sizes")


if __name__ == "__main__":
    main()
