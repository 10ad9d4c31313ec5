"""TensorFlow's kernel registry: which device has a kernel for an operation with its types.

The wheel for Linux registers the kernels for GPUs, too, so they can be listed on a machine without one. The rules are
those of ``FindKernelRegistration`` and ``KernelAttrsMatch`` in TensorFlow: a kernel fits if every attribute that it
constrains has an allowed value; where no kernel of the device fits, one that is registered for ``DEFAULT`` is taken.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any, NamedTuple

import tensorflow as tf
from tensorflow.python.framework import kernels, op_def_registry

__all__ = ["Kernel", "find_kernel", "is_in_host_memory", "lacking_types", "main_type", "types_of"]


class Kernel(NamedTuple):
    """A registered kernel: what it demands of attributes, and which arguments it takes and gives in host memory."""

    device: str
    allowed: tuple[tuple[str, frozenset[Any]], ...]
    in_host_memory: frozenset[str]


@functools.cache
def kernels_of(op: str) -> tuple[Kernel, ...]:
    """All kernels of a TensorFlow operator that are chosen without a label."""
    registered = kernels.get_registered_kernels_for_op(op).kernel
    return tuple(
        Kernel(
            kernel.device_type,
            tuple((limit.name, _allowed(limit.allowed_values.list)) for limit in kernel.constraint),
            frozenset(kernel.host_memory_arg),
        )
        for kernel in registered
        if not kernel.label
    )


def find_kernel(node: Any, device: str) -> Kernel | None:
    """The kernel that a NodeDef gets on a device, or None."""
    for place in (device, "DEFAULT"):
        for kernel in kernels_of(node.op):
            if kernel.device == place and _takes(kernel, node, _constrained(node.op)):
                return kernel
    return None


def is_in_host_memory(op: str, kernel: Kernel) -> bool:
    """True if a kernel reads and writes host memory only: registered for the GPU, computed on the CPU."""
    definition = op_def_registry.get(op)
    arguments = {argument.name for argument in (*definition.input_arg, *definition.output_arg)}
    return bool(arguments) and arguments <= kernel.in_host_memory


def types_of(node: Any) -> str:
    """The attributes that kernels of the operator constrain, as text: ``T=int32, Tidx=int64``."""
    return _text(node, _constrained(node.op))


def lacking_types(node: Any, device: str) -> str:
    """The fewest attributes whose values no kernel of a device takes, as text; empty if the device has no kernel."""
    kernels = [kernel for kernel in kernels_of(node.op) if kernel.device in (device, "DEFAULT")]
    names = _constrained(node.op)
    for count in range(len(names) + 1):
        for chosen in itertools.combinations(names, count):
            if not any(_takes(kernel, node, chosen) for kernel in kernels):
                return _text(node, chosen)
    raise ValueError(f"a kernel for {device} takes {node.op} ({types_of(node)})")


def _takes(kernel: Kernel, node: Any, names: tuple[str, ...]) -> bool:
    return all(_values(node, name) <= allowed for name, allowed in kernel.allowed if name in names)


def _text(node: Any, names: tuple[str, ...]) -> str:
    return ", ".join(f"{name}={_word(node, name)}" for name in names)


def main_type(node: Any) -> str:
    """The first constrained type in the operator's definition; ``any`` if kernels constrain none."""
    definition = op_def_registry.get(node.op)
    names = _constrained(node.op)
    ordered = [attribute.name for attribute in definition.attr if attribute.name in names]
    of_first_input = [arg.type_attr for arg in definition.input_arg if arg.type_attr in names]
    return _word(node, (of_first_input or ordered)[0]) if ordered else "any"


@functools.cache
def _constrained(op: str) -> tuple[str, ...]:
    return tuple(sorted({name for kernel in kernels_of(op) for name, _ in kernel.allowed}))


def _allowed(values: Any) -> frozenset[Any]:
    return frozenset((*values.type, *values.s, *values.i, *values.b))


def _values(node: Any, name: str) -> frozenset[Any]:
    """An attribute's value, or the types of a list of them."""
    attribute = node.attr[name]
    kind = attribute.WhichOneof("value")
    return frozenset(attribute.list.type) if kind == "list" else frozenset([getattr(attribute, kind)])


def _word(node: Any, name: str) -> str:
    words = [v.decode() if isinstance(v, bytes) else tf.dtypes.as_dtype(v).name for v in _values(node, name)]
    return " and ".join(sorted(words))
