"""The round trip of one model: ONNX, a SavedModel, ONNX again, run by ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx
from onnx.backend.test.case.test_case import TestCase

from tests.conformance import suite
from trueport import Conversion
from trueport.ir.ports import CONTAINERS, Port, pack, unpack
from trueport.pipeline import convert, convert_file
from trueport.runtimes.onnxruntime import OnnxRuntimeModel

__all__ = ["come_back", "compare", "trip"]


def trip(model: onnx.ModelProto, inputs: Sequence[Any], folder: Path) -> list[Any]:
    """The outputs of the model that came back; its inputs and outputs are declared as the first one's."""
    return come_back(convert(model, verify=False), model, inputs, folder)


def come_back(there: Conversion, model: onnx.ModelProto, inputs: Sequence[Any], folder: Path) -> list[Any]:
    """The second half: a conversion to TensorFlow saved, converted to ONNX and run by ONNX Runtime."""
    there.save(folder / "saved")
    convert_file(folder / "saved", folder / "back.onnx", verify=False)
    takes, gives = there.built.inputs, there.built.outputs
    back = onnx.load(folder / "back.onnx")
    _same_border(takes, model.graph.input, back.graph.input)
    _same_border(gives, _derived_outputs(model), back.graph.output)
    feeds = {}
    for port, value in zip(takes, inputs, strict=True):
        feeds.update(zip(_names(port), pack(port, value).values(), strict=True))
    made = OnnxRuntimeModel(folder / "back.onnx").run(feeds)
    return [unpack(p, dict(zip(p.parts, (made[n] for n in _names(p)), strict=True))) for p in gives]


def _derived_outputs(model: onnx.ModelProto) -> Sequence[onnx.ValueInfoProto]:
    """The outputs with the shapes that follow from the inputs: what a file declares beyond that is its claim."""
    stripped = onnx.ModelProto.FromString(model.SerializeToString())
    _strip(stripped.graph)
    return list(onnx.shape_inference.infer_shapes(stripped, data_prop=True).graph.output)


def _strip(graph: onnx.GraphProto) -> None:
    """Drop the declared shapes of what nodes make, in the graphs inside too."""
    for value in graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    del graph.value_info[:]
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _strip(attribute.g)


def _names(port: Port) -> tuple[str, ...]:
    """A tensor has its own name; lists and maps travel as several tensors."""
    return (port.name,) if port.kind == "tensor" else port.parts


def _same_border(
    ports: Sequence[Port], first: Sequence[onnx.ValueInfoProto], back: Sequence[onnx.ValueInfoProto]
) -> None:
    """The same names in the same order, the same types, dims with the same numbers and names."""
    assert [name for port in ports for name in _names(port)] == [value.name for value in back]
    declared, found = ({value.name: value.type.tensor_type for value in values} for values in (first, back))
    for port in ports:
        if port.kind != "tensor":
            continue
        kind, before = found[port.name], declared[port.name]
        assert kind.elem_type == CONTAINERS.get(port.element, port.element), f"{port.name}: type {kind.elem_type}"
        if before.HasField("shape"):
            dims, wanted = _dims(kind), _dims(before)
            # A dim without a name may come back as the number that it always has.
            same = [want is None or want == have for want, have in zip(wanted, dims, strict=True)]
            assert all(same), f"{port.name}: {dims}, not {wanted}"


def _dims(kind: Any) -> list[int | str | None]:
    """Numbers and names; None for a dim without one, also where inference made one up."""
    names = [None if dim.dim_param.startswith("unk__") else dim.dim_param or None for dim in kind.shape.dim]
    return [d.dim_value if d.HasField("dim_value") else name for d, name in zip(kind.shape.dim, names, strict=True)]


def compare(
    case: TestCase, model: onnx.ModelProto, inputs: list[Any], expected: list[Any], got: list[Any], *, random: bool
) -> None:
    """As the suite compares; by types and shapes where values come from another generator."""
    if random:
        assert [(g.shape, g.dtype) for g in got] == [(w.shape, w.dtype) for w in expected]
    elif any(isinstance(row, dict) for rows in expected if isinstance(rows, list) for row in rows):
        assert got == expected
    else:
        suite.check(case, model, inputs, expected, got)
