"""Two models of one form as graphs: what was changed is named, and nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.report import networks
from trueport.comparison import diff as diff_files
from trueport.errors import UsageError
from trueport.report.diff import Difference


def compare(folder: Path, change: onnx.ModelProto) -> Difference:
    onnx.save(networks.residual(), folder / "before.onnx")
    onnx.save(change, folder / "after.onnx")
    return diff_files(folder / "before.onnx", folder / "after.onnx")


def node(model: onnx.ModelProto, name: str) -> onnx.NodeProto:
    return next(node for node in model.graph.node if node.name == name)


def test_the_same(tmp_path: Path) -> None:
    found = compare(tmp_path, networks.residual())
    assert found.same and not found.renamed
    assert str(found).endswith("the same")


def test_an_attribute(tmp_path: Path) -> None:
    model = networks.residual()
    node(model, "/blocks/0/first/Conv").attribute[0].ints[:] = [2, 0, 1, 1]
    found = compare(tmp_path, model)
    assert [(change.node, change.what) for change in found.changed] == [
        ("/blocks/0/first/Conv", {"pads": ("[1, 1, 1, 1]", "[2, 0, 1, 1]")})
    ]
    assert not (found.added or found.removed or found.weights)


def test_an_operator_in_the_place_of_another(tmp_path: Path) -> None:
    model = networks.residual()
    node(model, "/blocks/1/second/Sigmoid").op_type = "Tanh"
    found = compare(tmp_path, model)
    assert found.removed == ("Sigmoid '/blocks/1/second/Sigmoid'",)
    assert found.added == ("Tanh '/blocks/1/second/Sigmoid'",)


def test_another_input(tmp_path: Path) -> None:
    model = networks.residual()
    node(model, "/blocks/1/Add").input[1] = "x"
    (change,) = compare(tmp_path, model).changed
    assert change.what["inputs"][1].endswith(", x")


def test_a_weight(tmp_path: Path) -> None:
    model = networks.residual()
    weight = next(weight for weight in model.graph.initializer if weight.name == "fc.weight")
    array = onnx.numpy_helper.to_array(weight).copy()
    array[3, 1] += np.float32(0.25)
    weight.CopyFrom(onnx.numpy_helper.from_array(array, weight.name))
    (found,) = compare(tmp_path, model).weights
    assert (found.name, found.differing, found.elements) == ("fc.weight", 1, 40)
    assert found.max_abs == pytest.approx(0.25, rel=1e-6)


def test_other_names_are_no_difference(tmp_path: Path) -> None:
    model = networks.residual()
    for place, found in enumerate(model.graph.node):
        found.name = f"n{place}"
    for weight in model.graph.initializer:
        for found in model.graph.node:
            found.input[:] = [f"renamed/{name}" if name == weight.name else name for name in found.input]
        weight.name = f"renamed/{weight.name}"
    difference = compare(tmp_path, model)
    assert difference.same
    assert len(difference.renamed) == len(model.graph.node)


def test_a_shorter_one(tmp_path: Path) -> None:
    found = compare(tmp_path, networks.residual(1))
    assert len(found.removed) == 5 and not found.added
    assert set(found.weights_removed) == {f"/blocks/1/{p}.{w}" for p in ("first", "second") for w in ("weight", "bias")}


def test_saved_models(tmp_path: Path) -> None:
    model = networks.classifier()
    model.export(str(tmp_path / "before"), verbose=False)
    layer = model.get_layer("classes")
    kernel, bias = layer.get_weights()
    layer.set_weights([kernel * 2, bias])
    model.export(str(tmp_path / "after"), verbose=False)
    assert diff_files(tmp_path / "before", tmp_path / "before").same
    found = diff_files(tmp_path / "before", tmp_path / "after")
    assert [(weight.name, weight.differing) for weight in found.weights] == [("classes/kernel", kernel.size)]
    assert not (found.added or found.removed or found.changed)


def test_models_of_two_forms_are_refused(tmp_path: Path) -> None:
    onnx.save(networks.residual(), tmp_path / "model.onnx")
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "saved_model.pb").touch()
    with pytest.raises(UsageError, match="no operators in common"):
        diff_files(tmp_path / "model.onnx", tmp_path / "saved")
