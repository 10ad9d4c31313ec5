"""Quantized models: scales and zero points are the source's bit for bit, integer results are equal."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from networks import digit_classifier, save
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static

import trueport


class Samples(CalibrationDataReader):
    """A few random images for the calibration."""

    def __init__(self) -> None:
        generator = np.random.default_rng(6)
        self._rows = iter([{"image": generator.normal(size=(4, 1, 28, 28)).astype(np.float32)} for _ in range(4)])

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self._rows, None)


folder = Path(tempfile.mkdtemp())
source = save(digit_classifier(), str(folder / "digits.onnx"))
kinds = {
    "qdq_per_channel": lambda out: quantize_static(
        source, out, Samples(), QuantFormat.QDQ, per_channel=True, weight_type=QuantType.QInt8
    ),
    "qoperator": lambda out: quantize_static(source, out, Samples(), QuantFormat.QOperator),
    "dynamic": lambda out: quantize_dynamic(source, out, weight_type=QuantType.QUInt8),
}
image = np.random.default_rng(7).normal(size=(3, 1, 28, 28)).astype(np.float32)
for kind, quantize in kinds.items():
    path = str(folder / f"{kind}.onnx")
    quantize(path)
    report = trueport.convert_file(path, folder / kind)
    print(report)
    # Integer tensors inside the model, by their ONNX names, in both runtimes.
    # ONNX Runtime fuses Q/DQ pairs unless told not to, and then rounds elsewhere than the graph says.
    onnx_model, saved_model = trueport.load(path, optimize=False), trueport.load(folder / kind)
    integers = [
        value
        for node in trueport.surgery.open(path).graph
        if node.op_type in ("QuantizeLinear", "QLinearConv", "DynamicQuantizeLinear")
        for value in (node.outputs[0].name,)
        if value
    ]
    wanted = onnx_model.run({"image": image}, fetch=integers)
    got = saved_model.run({"image": image}, fetch=integers)
    for name in integers:
        assert wanted[name].dtype == got[name].dtype
        np.testing.assert_array_equal(wanted[name], got[name], err_msg=f"{kind}: {name}")
    print(f"{kind}: {len(integers)} integer tensors inside are equal")
