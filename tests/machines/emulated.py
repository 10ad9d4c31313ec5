"""What must hold on a CPU with AVX2 and nothing newer, run under an emulator of one.

    qemu-x86_64 -cpu Haswell python -m tests.machines.emulated [sums] [chains]

``sums``: ONNX Runtime saturates there, and `verify` says so and does not blame the target. ``chains``: a grouped
convolution with bias, batch norm and activation runs as TensorFlow fuses it there.
"""

from __future__ import annotations

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

__all__ = ["integer_product", "main"]


def integer_product() -> onnx.ModelProto:
    """Return a product of uint8 data [4, 64] and int8 weights that saturates in 16 bits."""
    weights = np.random.default_rng(0).integers(-128, 128, (64, 8), dtype=np.int8)
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger", ["a", "w"], ["y"])],
        "product",
        [helper.make_tensor_value_info("a", TensorProto.UINT8, [4, 64])],
        [helper.make_tensor_value_info("y", TensorProto.INT32, [4, 8])],
        [numpy_helper.from_array(weights, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def sums() -> None:
    """ONNX Runtime saturates, exact sums are had all the same, and the report says who is wrong."""
    import trueport
    from trueport.fidelity import Verdict
    from trueport.runtimes.exact_sums import saturates_here
    from trueport.runtimes.onnxruntime import OnnxRuntimeModel

    assert saturates_here(), "this CPU has VNNI"
    model = integer_product()
    data = np.random.default_rng(1).integers(0, 256, (4, 64), dtype=np.uint8)
    exact = data.astype(np.int64) @ numpy_helper.to_array(model.graph.initializer[0]).astype(np.int64)
    assert np.array_equal(OnnxRuntimeModel(model).run({"a": data})["y"], exact)
    assert not np.array_equal(OnnxRuntimeModel(model, exact_sums=False).run({"a": data})["y"], exact)
    found = trueport.convert(model, to="tensorflow", data={"a": data}).report.comparison
    assert found.verdict == Verdict.FAITHFUL, found
    assert any("saturates uint8 × int8 sums" in hint and "the target is right" in hint for hint in found.hints), found


def chains() -> None:
    """Grouped, depthwise and dilated chains run and are faithful."""
    from tests.machines.chains import failures

    found = dict(failures("^2-D g2 (padded |doubled)$"))
    assert len(found) == 2 and not any(found.values()), found


def main(names: list[str]) -> None:
    """Run the named parts, or all."""
    for name in names or ["sums", "chains"]:
        {"sums": sums, "chains": chains}[name]()
        print(f"{name}: passed", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
