"""The table of devices says what TensorFlow's registry says, and nothing is emitted that a CPU can't run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import tensorflow as tf

from tests.devices.collect import Collected, Instance, collect
from tests.devices.kernels import find_kernel, is_in_host_memory, lacking_types
from tests.devices.table import cpu_only
from trueport.checking.devices import devices

SAMPLE = ("Conv", "Div", "MatMul", "Mod", "Relu", "StringConcat", "TopK", "Unique")


CHUNKS = 8
OTHERS = sorted(set(devices().collected) - set(SAMPLE))


@pytest.mark.parametrize(
    "operators",
    [SAMPLE, *(pytest.param(OTHERS[chunk::CHUNKS], marks=pytest.mark.slow) for chunk in range(CHUNKS))],
    ids=["sample", *map(str, range(CHUNKS))],
)
def test_the_table_answers_as_the_registry_does(operators: Sequence[str]) -> None:
    """In models of one node; ``python -m tests.devices.table check`` compares the whole file."""
    found = collect(operators)
    assert not found.without_cpu
    for op, traits, kernels in found.instances:
        facts = [fact for fact in devices().by_op.get(op, ()) if fact.covers(dict(traits))]
        told = {kernel for fact in facts for kernel in fact.kernels}
        assert kernels == told if all(fact.always for fact in facts) else kernels <= told, (op, traits)
    for fact in devices().cpu_only if operators is SAMPLE else ():
        seen = any(i.op == fact.op and i.cpu_only and fact.covers(dict(i.traits)) for i in found.instances)
        assert seen or fact.op not in SAMPLE, fact


def test_the_table_is_of_this_release() -> None:
    assert devices().tensorflow == tf.__version__


def _node(op: str, **attributes: Any) -> Any:
    node = tf.compat.v1.NodeDef(op=op)
    for name, value in attributes.items():
        if isinstance(value, list):
            node.attr[name].list.type.extend(dtype.as_datatype_enum for dtype in value)
        elif isinstance(value, bytes):
            node.attr[name].s = value
        else:
            node.attr[name].type = value.as_datatype_enum
    return node


@pytest.mark.parametrize(
    ("node", "gpu"),
    [
        (_node("MatMul", T=tf.float32), True),
        (_node("MatMul", T=tf.int64), False),
        (_node("DepthToSpace", T=tf.float32, data_format=b"NHWC"), True),
        (_node("PartitionedCall", Tin=[tf.float32, tf.int64], Tout=[tf.float32]), True),
        (_node("StringLower"), False),
    ],
    ids=lambda item: getattr(item, "op", str(item)),
)
def test_kernels_are_found_by_their_constraints(node: Any, gpu: bool) -> None:
    assert find_kernel(node, "CPU") is not None
    assert (find_kernel(node, "GPU") is not None) == gpu


@pytest.mark.parametrize(("dtype", "in_host_memory"), [(tf.int32, True), (tf.float32, False)])
def test_kernels_in_host_memory(dtype: Any, in_host_memory: bool) -> None:
    kernel = find_kernel(_node("AddV2", T=dtype), "GPU")
    assert kernel is not None
    assert is_in_host_memory("AddV2", kernel) == in_host_memory


def test_only_the_types_at_fault_are_named() -> None:
    node = _node("TopKV2", T=tf.float32, Tk=tf.int32, index_type=tf.int64)
    assert find_kernel(node, "GPU") is None
    assert lacking_types(node, "GPU") == "index_type=int64"


def test_the_fewest_traits_decide() -> None:
    """The type alone would not do, the attribute alone does; what nothing decides is told of some nodes."""
    found = Collected()
    for dtype, mode, kernels in (("A", "x", {"K"}), ("B", "x", {"K"}), ("A", "y", set()), ("B", "y", set())):
        found.instances.add(Instance("Op", (("T", dtype), ("mode", mode)), frozenset(kernels)))
    assert cpu_only(found) == [{"op": "Op", "when": {"mode": "x"}, "kernels": ["K"], "always": True}]
    found.instances.add(Instance("Op", (("T", "A"), ("mode", "x")), frozenset()))
    assert cpu_only(found) == [
        {"op": "Op", "when": {"T": "A", "mode": "x"}, "kernels": ["K"], "always": False},
        {"op": "Op", "when": {"T": "B", "mode": "x"}, "kernels": ["K"], "always": True},
    ]
