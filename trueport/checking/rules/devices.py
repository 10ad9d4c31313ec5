"""Nodes that TensorFlow would run on the CPU of a machine with a GPU. Told by its kernel registry; nothing was run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trueport.checking.devices import CpuOnly, devices
from trueport.checking.remarks import Severity
from trueport.checking.rules.base import Hit, Subject, rule
from trueport.ir.places import op_id

__all__: list[str] = []

_SHOWN = 3
"""TensorFlow operators named in a remark; docs/devices.md has all of them"""


@rule(
    "no-gpu-kernel",
    Severity.NOTE,
    "emits an operation for which TensorFlow registers no GPU kernel: with soft placement it would run on the CPU; "
    "not run here",
    remedy="nothing for models that run on CPUs; on a GPU expect copies to the CPU and back here, and leave soft "
    "placement on (tf.config.set_soft_device_placement; on is the default); docs/devices.md lists all such operators",
    targets=("tensorflow",),
)
def without_gpu_kernel(subject: Subject) -> Iterator[Hit]:
    # A declaration of the user's own emits what only its author knows.
    own = {f.op for f in subject.findings if f.mapping is not None and not f.mapping.by.startswith("trueport.")}
    for node in subject.nodes:
        facts = () if op_id(node) in own else devices().of_node(node)
        if facts:
            yield Hit(node, _because(facts))
    for role, ports in (("input", subject.inputs), ("output", subject.outputs)):
        for port in ports:
            if facts := devices().of_port(port, role):
                yield Hit(f"{role} {port.name!r}", _because(facts))


def _because(facts: Iterable[CpuOnly]) -> str:
    entries = list(facts)
    kernels = list(dict.fromkeys(kernel for fact in entries for kernel in fact.kernels))
    more = f" and {len(kernels) - _SHOWN} more" if len(kernels) > _SHOWN else ""
    release = ".".join(devices().tensorflow.split(".")[:2])
    emitted = "is emitted here" if all(fact.always for fact in entries) else "some nodes of this kind emit"
    return (
        f"TensorFlow {release} registers no GPU kernel for {', '.join(kernels[:_SHOWN])}{more}, which {emitted}: "
        "with soft placement it would run on the CPU; not run here"
    )
