"""ONNX files of one Keras model beside TensorFlow, in one process.

``python -m bench.tf2onnx_race NAME SAVED ROUNDS THREADS RESULT FORM=PATH…``

Writes, as JSON, each form's latency, its largest distance to TensorFlow's outputs at two batch sizes, its nodes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from bench.keras_zoo import Feeds, find
from bench.race import limit_threads, take_turns

__all__: list[str] = []

Run = Callable[[Feeds], Callable[[], dict[str, np.ndarray]]]
"""given a sample: what computes its outputs"""


def main(name: str, saved: str, rounds: int, threads: int, result: Path, forms: dict[str, str]) -> None:
    model = find(name)
    samples = [model.sample(batch) for batch in (model.batch, model.batch + 2)]
    limit_threads(threads)
    runs: dict[str, Run] = {"tensorflow": _tensorflow(saved)}
    truths = [runs["tensorflow"](sample)() for sample in samples]
    distances: dict[str, float] = {}
    failures: dict[str, str] = {}
    for form, path in forms.items():
        try:
            run = _session(path, threads)
            distances[form] = max(_distance(t, run(s)()) for t, s in zip(truths, samples, strict=True))
            runs[form] = run
        except Exception as error:  # whatever a form dies of is its result
            # ONNX Runtime puts the reason last.
            failures[form] = f"{type(error).__name__}: {' '.join(str(error).split())[-140:]}"
    seconds = take_turns({form: run(samples[0]) for form, run in runs.items()}, rounds)
    nodes = {form: sum(1 for _ in _nodes(onnx.load(path).graph)) for form, path in forms.items()}
    result.write_text(json.dumps({"seconds": seconds, "distances": distances, "failures": failures, "nodes": nodes}))


def _tensorflow(folder: str) -> Run:
    import tensorflow as tf

    loaded = tf.saved_model.load(folder)
    signature = loaded.signatures["serving_default"]

    def run(feeds: Feeds, kept: Any = loaded) -> Callable[[], dict[str, np.ndarray]]:
        given = {name: tf.constant(array) for name, array in feeds.items()}
        return lambda: {name: value.numpy() for name, value in signature(**given).items()}

    return run


def _session(path: str, threads: int) -> Run:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda feeds: lambda: dict(zip(names, session.run(None, feeds), strict=True))


def _distance(truth: dict[str, np.ndarray], got: dict[str, np.ndarray]) -> float:
    """The worst output's, relative to its largest magnitude; what is not a float is the same or is not."""
    if set(truth) != set(got):
        raise ValueError(f"outputs {sorted(got)} in place of {sorted(truth)}")
    return max(_error(want, got[name]) for name, want in truth.items())


def _error(want: np.ndarray, got: np.ndarray) -> float:
    if want.shape != got.shape or want.dtype != got.dtype:
        raise ValueError(f"{got.dtype}{list(got.shape)} in place of {want.dtype}{list(want.shape)}")
    if want.dtype.kind != "f":
        return 0.0 if np.array_equal(want, got) else float("inf")
    if not np.array_equal(np.isfinite(want), np.isfinite(got)):
        return float("inf")
    w, g = want.astype(np.float64), got.astype(np.float64)
    return float(np.nanmax(np.abs(w - g), initial=0.0) / max(np.nanmax(np.abs(w), initial=0.0), 1e-30))


def _nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """Those of subgraphs too; constants are data."""
    for node in graph.node:
        if node.op_type != "Constant":
            yield node
        for attribute in node.attribute:
            for inner in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                yield from _nodes(inner)


if __name__ == "__main__":
    name, saved, rounds, threads, result, *forms = sys.argv[1:]
    main(name, saved, int(rounds), int(threads), Path(result), dict(form.split("=", 1) for form in forms))
