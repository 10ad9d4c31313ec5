"""Forms of one model side by side in one process: ``python -m bench.race MODEL ROUNDS THREADS CLOCK RESULT FORM=PATH…``

Writes, as JSON, each form's latency (in a quiet moment) and its largest distance to ONNX Runtime's outputs.
Forms take turns round by round, so that what disturbs the machine disturbs all of them.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bench.models import find

__all__ = ["LOADS", "limit_threads", "take_turns"]

Call = Callable[[], list[np.ndarray]]
Clock = Callable[[], float]
LOADS = 3
"""Processes for each model: where a form's weights come to lie in memory is luck, and stays for the whole process."""
TURN = 0.05
"""seconds that a form runs before it is the next one's turn"""
CLOCKS: dict[str, Clock] = {"wall": time.perf_counter, "cpu": time.process_time}


def main(name: str, rounds: int, threads: int, clock: Clock, result: Path, forms: dict[str, str]) -> None:
    feeds = find(name).sample()
    calls: dict[str, Call] = {}
    failures: dict[str, str] = {}
    limit_threads(threads)
    for form, path in forms.items():
        try:
            calls[form] = _session(path, feeds, threads) if path.endswith(".onnx") else _saved_model(path, feeds)
            calls[form]()
        except Exception as error:  # whatever a form dies of is its result
            failures[form] = " ".join(f"{type(error).__name__}: {error}".split())[:160]
            calls.pop(form, None)
    truth = calls["onnxruntime"]()
    distances = {form: _distance(truth, call()) for form, call in calls.items()}
    seconds = take_turns(calls, rounds, clock)
    result.write_text(json.dumps({"seconds": seconds, "distances": distances, "failures": failures}))


def limit_threads(threads: int) -> None:
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)


def _session(path: str, feeds: dict[str, np.ndarray], threads: int) -> Call:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, feeds)


def _saved_model(path: str, feeds: dict[str, np.ndarray]) -> Call:
    import tensorflow as tf

    loaded = tf.saved_model.load(path)
    signature = loaded.signatures["serving_default"]
    given = {name: tf.constant(array) for name, array in _fitted(signature, feeds).items()}

    def call(kept: Any = loaded) -> list[np.ndarray]:
        return [value.numpy() for value in signature(**given).values()]

    return call


def _fitted(signature: Any, feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The sample under the signature's names, with channels last where it wants them so."""
    specs = signature.structured_input_signature[1]
    plain = {_plain(name): array for name, array in feeds.items()}
    found = {name: plain[_plain(name)] for name in specs if _plain(name) in plain}
    if len(found) < len(specs):
        found = dict(zip(specs, feeds.values(), strict=True))
    return {name: _ordered(array, specs[name].shape) for name, array in found.items()}


def _plain(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum())


def _ordered(array: np.ndarray, shape: Any) -> np.ndarray:
    if shape.is_compatible_with(array.shape) and not (array.ndim == 4 and shape[-1] == array.shape[1] != shape[1]):
        return array
    moved = np.moveaxis(array, 1, -1)
    return np.ascontiguousarray(moved if shape.is_compatible_with(moved.shape) else array)


def _distance(truth: list[np.ndarray], got: list[np.ndarray]) -> float:
    """Relative to each output's largest magnitude; outputs are matched by shape, in any order of axes."""
    worst = 0.0
    for want in truth:
        same = [g for g in got if sorted(g.shape) == sorted(want.shape)]
        tries = [_error(want, candidate) for g in same for candidate in (g, np.moveaxis(g, -1, 1) if g.ndim > 2 else g)]
        worst = max(worst, min(tries, default=float("inf")))
    return worst


def _error(want: np.ndarray, got: np.ndarray) -> float:
    if want.shape != got.shape:
        return float("inf")
    w, g = want.astype(np.float64), got.astype(np.float64)
    return float(np.max(np.abs(w - g), initial=0.0) / max(np.max(np.abs(w), initial=0.0), 1e-30))


def take_turns(
    calls: Mapping[str, Callable[[], Any]], rounds: int, clock: Clock = time.perf_counter
) -> dict[str, float]:
    """Each one's seconds in a quiet moment: nineteen of twenty calls took as long or longer."""
    order = list(calls)
    spent: dict[str, list[float]] = {form: [] for form in order}
    for number in range(rounds):
        for form in order if number % 2 else reversed(order):
            end = time.perf_counter() + TURN
            while True:
                start = clock()
                calls[form]()
                spent[form].append(clock() - start)
                if time.perf_counter() > end:
                    break
    return {form: sorted(times)[len(times) // 20] for form, times in spent.items()}


if __name__ == "__main__":
    model, rounds, threads, clock, result, *forms = sys.argv[1:]
    main(model, int(rounds), int(threads), CLOCKS[clock], Path(result), dict(form.split("=", 1) for form in forms))
