"""Named inputs: names with dots, slashes and colons, a dynamic batch, everything passed by name."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import onnx.helper as oh
from networks import make
from onnx import TensorProto

import trueport

names = ["encoder.hidden", "decoder/state:0", "mask"]
graph = oh.make_graph(
    [oh.make_node("Mul", names[:2], ["product"]), oh.make_node("Where", ["mask", "product", names[0]], ["out:0"])],
    "named",
    [
        oh.make_tensor_value_info(names[0], TensorProto.FLOAT, ["batch", 4]),
        oh.make_tensor_value_info(names[1], TensorProto.FLOAT, ["batch", 4]),
        oh.make_tensor_value_info(names[2], TensorProto.BOOL, ["batch", 4]),
    ],
    [oh.make_tensor_value_info("out:0", TensorProto.FLOAT, ["batch", 4])],
)
result = trueport.convert(make(graph))
folder = Path(tempfile.mkdtemp()) / "saved_model"
result.save(folder)
print(result.report)

# TensorFlow's own names, for those who call the signature directly: the map says them.
as_argument = {port.name: port.parts[0] for port in result.report.inputs}
loaded = trueport.load(folder)
generator = np.random.default_rng(2)
for batch in (1, 5):
    a, b = generator.normal(size=(2, batch, 4)).astype(np.float32)
    feeds = dict(zip(names, (a, b, a > 0), strict=True))
    expected = np.where(a > 0, a * b, a)
    in_memory = result.model(**{as_argument[name]: value for name, value in feeds.items()})
    np.testing.assert_array_equal(next(iter(in_memory.values())), expected)
    np.testing.assert_array_equal(loaded.run(feeds)["out:0"], expected)
print("by name, batch 1 and 5: equal")
