"""Models whose weights, small ones too, lie in a file beside them, compared from any working directory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

import trueport
from trueport.fidelity import Verdict

HEAD = '<ir_version: 10, opset_import: ["" : 21]> g (float[N, 8] x) => (float[N, 4] y) '
INTEGERS = "q, s, z = DynamicQuantizeLinear (x) i = MatMulInteger (q, w, z) c = Cast <to=1> (i) y = Mul (c, s)"
MODELS = {
    "floats": ("{ h = MatMul (x, w) y = Add (h, b) }", np.float32),
    "integer sums": (f"{{ {INTEGERS} }}", np.int8),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("outside", [("target",), ("source", "target")])
def test_small_weights_outside_are_found(name: str, outside: tuple[str, ...], tmp_path: Path) -> None:
    code, kind = MODELS[name]
    model = onnx.parser.parse_model(HEAD + code)
    weight = np.random.default_rng(0).integers(-9, 9, size=(8, 4)).astype(kind)
    arrays = {"w": weight, "b": np.ones(4, np.float32)}
    used = {read for node in model.graph.node for read in node.input}
    model.graph.initializer.extend(onnx.numpy_helper.from_array(a, n) for n, a in arrays.items() if n in used)
    models = {}
    for side in ("source", "target"):
        models[side] = tmp_path / f"{side}.onnx"
        options = {"save_as_external_data": True, "location": f"{side}.data", "size_threshold": 0}
        onnx.save(
            onnx.ModelProto.FromString(model.SerializeToString()), models[side], **options if side in outside else {}
        )
    assert trueport.verify(models["source"], models["target"]).verdict == Verdict.FAITHFUL
