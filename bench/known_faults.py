"""Models that other converters get wrong without a word: reproduced, located, explained.

``python -m bench known_faults`` converts them again, each tool in its own environment, and says what is found.
``python -m bench.known_faults FOLDER`` writes the wrong targets into a folder; those in ``tests/verifying/known`` are
kept, so that the tests need none of the tools.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir

from bench.faults.zoo import Net
from bench.peers import PEERS, TF2ONNX, Tool, convert
from bench.table import render
from trueport.lazy import LazyModule

__all__ = ["KEPT", "KNOWN", "Known", "report", "write"]

tf: Any = LazyModule("tensorflow", "TensorFlow", "tensorflow")
KEPT = Path(__file__).parent.parent / "tests" / "verifying" / "known"
ONNX2TF = next(tool for tool in PEERS if tool.name == "onnx2tf")
_INTEGERS = ir.DataType.INT64


@dataclass(frozen=True)
class Known:
    """A model, the tool that gets it wrong, the operator at which it does, and words of the cause."""

    name: str
    tool: Tool
    what: str
    make: Callable[[], Any]
    op: str
    cause: str
    """words of one of the causes that are named"""

    def target(self, folder: Path) -> Path:
        """Where the tool's result lies."""
        return folder / (f"{self.name}.onnx" if self.tool is TF2ONNX else self.name)


def _function(call: Callable[[Any], Any], shape: list[int], dtype: str = "float32") -> Callable[[], Any]:
    def make() -> Any:
        signature = [tf.TensorSpec(shape, tf.as_dtype(dtype), name="x")]
        return tf.function(call, input_signature=signature, autograph=False)

    return make


def _weights(*shape: int) -> Any:
    return tf.constant(np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32) * 0.4)


def _features(x: Any) -> Any:
    return tf.nn.relu(tf.nn.conv2d(x, _weights(3, 3, 3, 4), 1, "SAME"))


def _net(build: Callable[[Net], Any], name: str) -> Callable[[], Any]:
    def make() -> Any:
        net = Net(name)
        made = net.finish(build(net))
        for index, node in enumerate(made.graph.node):
            node.name = node.name or f"{node.op_type}_{index}"
        return made

    return make


def _picture(n: Net) -> Any:
    x = n.input("x", [1, 3, 9, 7])
    return n.op.Relu(n.op.Conv(x, n.weight(4, 3, 3, 3), n.weight(4), pads=[1, 1, 1, 1]))


def _cubic(n: Net, **attributes: Any) -> Any:
    scales = n.constant(np.array([1, 1, 2, 2], np.float32))
    return n.op.Tanh(n.op.Resize(_picture(n), None, scales, mode="cubic", **attributes))


def _remainder(n: Net) -> Any:
    x = n.op.Neg(n.op.Tanh(n.input("x", [3, 4])))
    return n.op.Exp(n.op.Mod(x, n.constant(np.float32(0.7)), fmod=1))


def _whole_remainder(n: Net) -> Any:
    x = n.op.Neg(n.input("x", [3, 4], _INTEGERS))
    return n.op.Add(n.op.Mod(x, n.constant(np.int64(5)), fmod=1), n.constant(np.int64(2)))


def _rounded(n: Net) -> Any:
    x = n.op.Tanh(n.input("x", [4, 6]))
    scale, zero = n.constant(np.float32(0.05)), n.constant(np.uint8(20))
    return n.op.Relu(n.op.DequantizeLinear(n.op.QuantizeLinear(x, scale, zero), scale, zero))


def _divided(x: Any) -> Any:
    return tf.abs(tf.math.floordiv(x - 5, 3)) + 1


def _modulo(x: Any) -> Any:
    return tf.math.floormod(x - 5, 3) * 2


def _area(x: Any) -> Any:
    return tf.tanh(tf.image.resize(_features(x), [5, 11], method="area"))


def _old_bicubic(x: Any) -> Any:
    return tf.tanh(tf.compat.v1.image.resize_bicubic(_features(x), [13, 5]))


def _cropped(x: Any) -> Any:
    boxes = tf.constant([[0.125, 0.5, 0.875, 1.0], [0.0, 0.0, 1.0, 1.0]])
    return tf.tanh(tf.image.crop_and_resize(_features(x), boxes, [0, 0], [17, 13], method="nearest"))


def _scattered(x: Any) -> Any:
    return tf.exp(tf.scatter_nd([[1], [1], [3]], tf.tanh(x)[:3], [5]))


def _average(x: Any) -> Any:
    return tf.math.segment_mean(tf.tanh(x), [0, 0, 1, 1, 1, 3, 3, 3]) + 1.0


def _added(x: Any) -> Any:
    return tf.math.unsorted_segment_sum(tf.tanh(x), [0, 2, -1, 1, 2, 0, 2, 4], 6) + 1.0


def _saturated(x: Any) -> Any:
    return tf.sqrt(tf.image.adjust_saturation(tf.sigmoid(x), 1.7))


KNOWN: tuple[Known, ...] = (
    Known(
        "floor_division",
        TF2ONNX,
        "floor division of negative integers rounds to zero",
        _function(_divided, [3, 4], "int32"),
        "FloorDiv",
        "behaves as TruncateDiv",
    ),
    Known(
        "floor_modulo",
        TF2ONNX,
        "the remainder of negative integers has the wrong sign",
        _function(_modulo, [3, 4], "int32"),
        "FloorMod",
        "behaves as TruncateMod",
    ),
    Known(
        "area_resize",
        TF2ONNX,
        "resizing by area takes the nearest pixel",
        _function(_area, [1, 9, 7, 3]),
        "ResizeArea",
        "behaves as ResizeNearestNeighbor",
    ),
    Known(
        "old_bicubic",
        TF2ONNX,
        "bicubic resizing without half pixels uses another kernel",
        _function(_old_bicubic, [1, 9, 7, 3]),
        "ResizeBicubic",
        "cubic_coeff_a = -0.5, exclude_outside = 1, the source has cubic_coeff_a = -0.75, exclude_outside = 0",
    ),
    Known(
        "scatter_twice",
        TF2ONNX,
        "of several updates of one element only one counts",
        _function(_scattered, [8]),
        "ScatterNd",
        "reduction = none, the source has add",
    ),
    Known(
        "empty_mean",
        TF2ONNX,
        "the mean of an empty segment is NaN, not 0",
        _function(_average, [8]),
        "SegmentMean",
        "NaN or infinity",
    ),
    Known(
        "negative_segment",
        TF2ONNX,
        "an element of a negative segment, which is to be dropped, is added",
        _function(_added, [8]),
        "UnsortedSegmentSum",
        "negative numbers in segment_ids count from the end",
    ),
    Known(
        "saturation",
        TF2ONNX,
        "colours come out wrong when saturation is adjusted",
        _function(_saturated, [1, 6, 6, 3]),
        "AdjustSaturation",
        "along axis 3 it gives the right numbers in another order",
    ),
    Known(
        "crop_halves",
        TF2ONNX,
        "a crop takes the pixel below where two are equally near",
        _function(_cropped, [1, 9, 7, 3]),
        "CropAndResize",
        "nearest_mode = round_prefer_floor, the source has nearest_mode = round_prefer_ceil",
    ),
    Known(
        "remainder",
        ONNX2TF,
        "fmod = 1 is ignored for floats",
        _net(_remainder, "remainder"),
        "Mod",
        "fmod = 0, the source has 1",
    ),
    Known(
        "whole_remainder",
        ONNX2TF,
        "fmod = 1 is ignored for integers",
        _net(_whole_remainder, "whole_remainder"),
        "Mod",
        "fmod = 0, the source has 1",
    ),
    Known(
        "quantized",
        ONNX2TF,
        "QuantizeLinear and DequantizeLinear are left out",
        _net(_rounded, "quantized"),
        "QuantizeLinear",
        "QuantizeLinear, DequantizeLinear: left out",
    ),
    Known(
        "cubic_coefficient",
        ONNX2TF,
        "cubic resizing leaves out what is outside of the picture",
        _net(lambda n: _cubic(n, cubic_coeff_a=-0.5), "cubic_coefficient"),
        "Resize",
        "exclude_outside = 1",
    ),
    Known(
        "cubic_outside",
        ONNX2TF,
        "the coefficient of cubic resizing is ignored",
        _net(lambda n: _cubic(n, exclude_outside=1), "cubic_outside"),
        "Resize",
        "cubic_coeff_a = -0.5",
    ),
)
"""All of them convert without an error or a warning about numbers."""


def write(folder: Path) -> None:
    """Convert all models, each by the tool that gets it wrong; what does not convert is left out."""
    folder.mkdir(parents=True, exist_ok=True)
    for known in KNOWN:
        with tempfile.TemporaryDirectory() as scratch:
            place = Path(scratch)
            made = convert(known.tool, _stored(known, place), place / "made" / known.target(folder).name)
            print(known.name, made.failure or "converted", file=sys.stderr, flush=True)
            if not made.failure:
                _keep(place / "made" / known.target(folder).name, known.target(folder))


def _stored(known: Known, folder: Path) -> Path:
    source = known.make()
    if known.tool is not TF2ONNX:
        place = folder / "model.onnx"
        place.write_bytes(source.SerializeToString())
        return place
    module = tf.Module()
    module.call = source
    tf.saved_model.save(module, str(folder / "saved"), signatures=source.get_concrete_function())
    return folder / "saved"


def _keep(made: Path, place: Path) -> None:
    """A SavedModel without the other files that a tool leaves beside it."""
    if made.is_file():
        shutil.copy(made, place)
        return
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    shutil.copy(made / "saved_model.pb", place)
    shutil.copytree(made / "variables", place / "variables")


def report() -> str:
    """Made again and located: the node, and the cause."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        return render("Known faults", ["tool", "fault", "node named", "cause"], list(_rows(Path(folder))))


def _rows(folder: Path) -> Iterator[list[str]]:
    from trueport.comparison import locate

    for known in KNOWN:
        place = known.target(folder)
        if not place.exists():
            yield [known.tool.name, known.what, "did not convert", ""]
            continue
        culprit = locate(known.make(), place).culprit
        right = culprit is not None and culprit.op == known.op
        named = f"{culprit.op}{'' if right else f', not {known.op}'}" if culprit else "none"
        yield [known.tool.name, known.what, named, culprit.causes[0].what if culprit and culprit.causes else ""]


if __name__ == "__main__":
    write(Path(sys.argv[1]))
