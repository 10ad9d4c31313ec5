"""The page of devices, printed from the stored table; TensorFlow is not loaded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from trueport.checking.devices import CpuOnly, Devices, devices

__all__ = ["devices_page"]

_INTRODUCTION = """\
# Devices

A converted model holds TensorFlow's own operators only and names no device: TensorFlow places every operation itself.
Each of the {operators} TensorFlow operators that were emitted for this page has a CPU kernel in every type it was
emitted with. {without} of them have no GPU kernel in some of these types; TensorFlow would run those operations on the
CPU and copy their data there and back.

**No GPU and no ARM machine was used.** All tests of Trueport run on x86-64 CPUs under Linux. What this page says of
GPUs is what the kernel registry of TensorFlow {version} (wheel for Linux) lists; none of it was run. Other builds of
TensorFlow may register other kernels.

`trueport check model.onnx --to tensorflow` names the nodes of a model that this concerns (`no-gpu-kernel`, a note: it
changes neither the verdict nor the exit code). Soft placement is TensorFlow's default. Where a program has turned it
off (`tf.config.set_soft_device_placement(False)`) and calls the model under `tf.device("/GPU:0")`, such nodes would
fail.

How it was collected: the cases of ONNX's backend suite were converted, and for each operator a few of them once more in
every type that the schema allows, with shapes and axes as constants, and with dynamic dims. {collected} operators were
seen so; a type or a form of an operator that was not converted is not listed. Operators of `com.microsoft` and your own
were not collected. Printed by `make docs` from `trueport/checking/devices.json`, which `make devices`
collects anew.
"""
_NODES = """\
## ONNX operators that emit operations without a GPU kernel

*When* gives the type parameters and attributes that decide it; nodes that differ in them are not concerned. *Some*:
only some nodes of this kind, for it depends on more, such as shapes. `(input)` and `(output)` are the model's own. The
next table has the types for which the TensorFlow operators have no GPU kernel.

| ONNX operator | when | no GPU kernel for |
| --- | --- | --- |"""
_KERNELS = """\
## TensorFlow operators that are emitted

All have CPU kernels for all types listed here. *GPU*: a GPU kernel is registered. *Host memory*: it is registered and
works on data in the CPU's memory, as TensorFlow does for most `int32` operations. *CPU only*: no GPU kernel is
registered. Operators without a type are those whose kernels take any.

| TensorFlow operators | GPU | host memory | CPU only |
| --- | --- | --- | --- |"""


def devices_page() -> str:
    """Both tables, the main point first."""
    found = devices()
    introduction = _INTRODUCTION.format(
        operators=len(found.operators),
        without=sum("cpu" in places for places in found.operators.values()),
        version=found.tensorflow,
        collected=len(found.collected),
    )
    return "\n".join([introduction, _NODES, *_node_rows(found.cpu_only), "", _KERNELS, *_kernel_rows(found)]) + "\n"


def _node_rows(facts: Iterable[CpuOnly]) -> Iterator[str]:
    """One row for all entries of an operator that name the same TensorFlow operators and differ in one type only."""
    groups: dict[tuple[str, tuple[str, ...], str, bool], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for fact in facts:
        operators = tuple(dict.fromkeys(kernel.split()[0] for kernel in fact.kernels))
        first, *others = (*fact.when.items(), ("", ""))[: max(len(fact.when), 1)]
        rest = ", ".join(f"{name} = {value}" for name, value in others)
        groups[fact.op, operators, rest, fact.always][first[0]].append(first[1])
    for (op, operators, rest, always), types in groups.items():
        first = "; ".join(f"{name} = {' / '.join(values)}" for name, values in types.items() if name)
        when = ", ".join(filter(None, (first, rest))) or ("always" if always else "")
        some = "" if always else " (some)" if when else "some"
        yield f"| `{op}` | {when}{some} | {', '.join(f'`{o}`' for o in operators)} |"


def _kernel_rows(found: Devices) -> Iterator[str]:
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for op, places in found.operators.items():
        groups[tuple(_types(places.get(place, ()), place) for place in ("gpu", "host", "cpu"))].append(op)
    for answers, operators in sorted(groups.items(), key=lambda item: (item[0][2] == "", item[1])):
        yield f"| {', '.join(f'`{op}`' for op in operators)} | {' | '.join(answers)} |"


def _types(types: Iterable[str], place: str) -> str:
    separator = "; " if place == "cpu" else ", "
    return separator.join(name or "any" for name in types)
