"""``python -m bench covered``: faults in parts that a verification calls covered; all of them must be detected."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator

import numpy as np
import onnx

from bench.faults.covered.inject import CoveredFault, faults_of
from bench.faults.strangers.nets import NETS, load_net
from trueport.verifying.coverage.count import Count

__all__ = ["run_covered"]

_OF_ONE_MODEL = 8
"""Faults that are drawn from one model, so that a large one does not fill the count."""


def run_covered(count: int, seed: int, pattern: str = "") -> str:
    """Put faults into covered parts of models drawn by seed until there are ``count``; return what was detected."""
    import trueport
    from trueport.fidelity import Verdict

    lines, tried, detected = [], 0, 0
    for name, source, fault in _drawn(seed, pattern):
        if tried == count:
            break
        verdict = trueport.verify(source, fault.model).verdict
        tried, detected = tried + 1, detected + (verdict is not Verdict.FAITHFUL)
        print(f"covered {tried}/{count}: {name}", file=sys.stderr, flush=True)
        if verdict is Verdict.FAITHFUL:
            lines.append(f"not detected: {name}, {fault.node}: {fault.part}")
    return "\n".join([f"{detected} of {tried} faults in covered parts detected", *lines])


def _drawn(seed: int, pattern: str) -> Iterator[tuple[str, onnx.ModelProto, CoveredFault]]:
    rng = np.random.default_rng(seed)
    names = [name for name in NETS if pattern in name]
    for name in (names[i] for i in rng.permutation(len(names))):
        source = load_net(name)
        found = [fault for node, counted in _covered(source) for fault in faults_of(source, node, counted)]
        own = np.random.default_rng([seed, *hashlib.sha256(name.encode()).digest()[:4]])
        for index in own.permutation(len(found))[:_OF_ONE_MODEL]:
            yield name, source, found[index]


def _covered(source: onnx.ModelProto) -> Iterator[tuple[str, Count]]:
    """Yield the nodes that decide with what the inputs of `verify` reach of them."""
    from trueport.sources.open import open_source
    from trueport.verifying.coverage.tally import Tally
    from trueport.verifying.inputs.feeding import Feeding, feed
    from trueport.verifying.inputs.pairing import PairedModel, pair

    opened = open_source(source)
    run, tally = opened.runs()[0], Tally()
    for feeds in feed(Feeding(special=True), run, PairedModel(run, *pair(run, run)), opened.reference()):
        if not feeds.bold or all(np.isfinite(made).all() for made in run.run(feeds).values() if made.dtype.kind == "f"):
            tally.note(feeds)
    yield from ((node.name or node.outputs[0].name or "", counted) for node, counted in tally.counts.items())
