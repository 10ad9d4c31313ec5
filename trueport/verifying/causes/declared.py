"""What the operator's own declaration says: it draws random numbers, or it is translated only approximately."""

from __future__ import annotations

from collections.abc import Iterator

from trueport.fidelity import EXACT, UNSUPPORTED
from trueport.mapping.registry import Registry
from trueport.reference.walk import NodeCase
from trueport.verifying.locate.first_node import Cause

__all__ = ["declared"]


def declared(case: NodeCase, registry: Registry, target: str) -> Iterator[Cause]:
    """Causes that were announced; ``target``: the runtime, for a translation's limits hold for what it makes."""
    mapping = registry.find(case.node.op_type, case.node.domain)
    if mapping is None:
        return
    if mapping.random:
        yield Cause("random", "the operator draws random numbers", "no two runtimes draw the same ones")
    if target != registry.target:
        return
    for reason in registry.assess(case.node).reasons:
        if EXACT < reason.effect < UNSUPPORTED:
            bound = f"; declared bound: {mapping.error}" if mapping.error else ""
            words = f"{case.node.op_type} is declared {reason.effect.name.lower()} ({reason.label})"
            yield Cause("approximate", words, f"{reason.because}{bound}")
