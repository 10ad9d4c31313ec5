"""Operators that keep the elements and change the shape, at several sizes, for every element type."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx.parser
import onnxruntime as ort
import pytest

import trueport
from tests.grid.harness import check

INT64_MAX, INT64_MIN = np.iinfo(np.int64).max, np.iinfo(np.int64).min

BOOL, STRING = np.dtype(bool), np.dtype(object)
INTEGERS = [np.dtype(f"{kind}{bits}") for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
COMMON = [*(np.dtype(f"float{bits}") for bits in (16, 32, 64)), *INTEGERS, BOOL]
COMPLEX = [np.dtype(np.complex64), np.dtype(np.complex128)]
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
NARROW_FLOATS = [
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float4_e2m1fn",
]
NARROW = [np.dtype(getattr(ml_dtypes, name)) for name in (*NARROW_FLOATS, "int4", "uint4", "int2", "uint2")]
OLD = [*COMMON, *COMPLEX, STRING]
ALL = [*OLD, BFLOAT16, *NARROW]


def ints(*values: int, dtype: type = np.int64) -> np.ndarray:
    return np.array(values, dtype)


def data(*shape: int, dtype: object = np.float32) -> np.ndarray:
    """Different small numbers, as far as the type has that many; signed where it has signs."""
    dtype = np.dtype(dtype)
    numbers = np.asarray(np.arange(int(np.prod(shape))).reshape(shape))
    if dtype == STRING:
        return np.array([f"s{n}é" for n in numbers.ravel()], object).reshape(shape)
    if dtype == BOOL:
        return numbers % 3 == 1
    if dtype.kind == "c":
        return (numbers + 1j * (numbers - 3)).astype(dtype)
    if dtype.kind in "iu" and dtype.itemsize > 1:
        return (numbers * (np.iinfo(dtype).max // 40) - (numbers % 2) * (dtype.kind == "i") * 77).astype(dtype)
    few = dtype in NARROW[4:]
    return np.asarray(numbers % (2 if few else 7), dtype)


def versus(dtype: np.dtype) -> str:
    return "ort" if dtype in COMMON or dtype == STRING else "reference"


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_transpose_types(dtype: np.dtype) -> None:
    check("Transpose", [data(2, 3, dtype=dtype)], [data(4, 1, dtype=dtype)], versus="reference", opset=25, perm=[1, 0])


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_reshape_types(dtype: np.dtype) -> None:
    check("Reshape", [data(2, 6, dtype=dtype), ints(-1, 3)], versus="reference", opset=25, constants=[1])


@pytest.mark.parametrize(
    "shapes, shape, allowzero",
    [
        ([(2, 3, 4), (5, 3, 4)], (0, -1), 0),
        ([(2, 3, 4), (5, 3, 4)], (0, 0, 2, 2), 0),
        ([(2, 3, 4)], (-1,), 0),
        ([(2, 3, 4), (0, 3, 4)], (-1, 12), 0),
        ([(0, 3), (0, 5)], (0, 7), 1),
        ([(1, 1)], (), 0),
        ([(), ()], (1, 1), 0),
    ],
)
@pytest.mark.parametrize("constant", [True, False])
def test_reshape(shapes: list, shape: tuple, allowzero: int, constant: bool) -> None:
    sets = [[data(*s), np.array(shape, np.int64)] for s in shapes]
    check("Reshape", *sets, constants=[1] if constant else [], allowzero=allowzero)


@pytest.mark.parametrize("start, end", [(0, None), (1, None), (-1, None), (0, -1), (1, 2), (-9, 9), (2, 1)])
def test_shape(start: int, end: int | None) -> None:
    attributes = {"start": start} | ({} if end is None else {"end": end})
    check("Shape", [data(2, 3, 4)], [data(0, 1, 5)], **attributes)


def test_shape_and_size_of_scalars() -> None:
    check("Shape", [np.array(1, np.float32)])
    check("Size", [np.array(1, np.float32)])
    check("Size", [data(2, 3)], [data(0, 3)])


@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1, -3])
def test_flatten(axis: int) -> None:
    check("Flatten", [data(2, 3, 4)], [data(1, 0, 2)], axis=axis)


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("axes", [(0,), (-1,), (0, 2), (-2, 0)])
def test_squeeze(axes: tuple, constant: bool) -> None:
    shape = [2, 3, 4]
    for axis in axes:
        shape[axis] = 1
    other = [1 if size == 1 else size + 3 for size in shape]
    sets = [[data(*s), ints(*axes)] for s in (shape, other)]
    check("Squeeze", *sets, constants=[1] if constant else [])


def test_squeeze_all() -> None:
    check("Squeeze", [data(1, 3, 1)], [data(2, 1, 5)])


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("axes", [(0,), (-1,), (1, -1), (3, 0), (2, -4)])
def test_unsqueeze(axes: tuple, constant: bool) -> None:
    sets = [[data(*s), ints(*axes)] for s in ((2, 3), (0, 1))]
    check("Unsqueeze", *sets, constants=[1] if constant else [])


@pytest.mark.parametrize("axes", [(0,), (-1,), (2, 0), (-1, -3), (0, -1)])
def test_unsqueeze_where_the_rank_is_not_known(axes: tuple[int, ...]) -> None:
    text = f"""
    <ir_version: 8, opset_import: ["" : 17]>
    agraph (float[N,3] x, bool more) => (float y) {{
        a = If(more) <
            then_branch = one () => (float b) {{ at = Constant<value_ints=[1]>()  b = Unsqueeze(x, at) }},
            else_branch = two () => (float c) {{ c = Identity(x) }}
        >
        axes = Constant<value_ints={list(axes)}>()
        y = Unsqueeze(a, axes)
    }}"""
    model = onnx.parser.parse_model(text)
    session = ort.InferenceSession(model.SerializeToString())
    made = trueport.convert(model, to="tensorflow", verify=False).model
    for more in (False, True):
        feeds = {"x": np.arange(6, dtype=np.float32).reshape(2, 3), "more": np.array(more)}
        np.testing.assert_array_equal(made(**feeds)["y"], session.run(None, feeds)[0], strict=True)


def test_unsqueeze_scalar() -> None:
    check("Unsqueeze", [np.array(3, np.float32), ints(0, 1)])


@pytest.mark.parametrize("perm", [None, [2, 0, 1], [0, 1, 2], [0, 2, 1]])
def test_transpose(perm: list | None) -> None:
    check("Transpose", [data(2, 3, 4)], [data(0, 1, 4)], **({"perm": perm} if perm else {}))


@pytest.mark.parametrize("dtype", OLD, ids=str)
def test_concat(dtype: np.dtype) -> None:
    first, second = data(2, 3, dtype=dtype), data(2, 1, dtype=dtype)
    check("Concat", [first, second], [second, data(2, 0, dtype=dtype)], versus=versus(dtype), axis=-1)


@pytest.mark.parametrize("dtype", OLD, ids=str)
def test_split_types(dtype: np.dtype) -> None:
    check("Split", [data(6, 2, dtype=dtype)], [data(7, 2, dtype=dtype)], outputs=3, versus="reference", num_outputs=3)


@pytest.mark.parametrize("constant", [True, False])
def test_split(constant: bool) -> None:
    check("Split", [data(2, 6), ints(1, 0, 5)], outputs=3, axis=-1, constants=[1] if constant else [])


def test_split_into_more_than_there_is() -> None:
    check("Split", [data(5)], [data(8)], outputs=4, versus="reference", num_outputs=4)


@pytest.mark.parametrize("dtype", OLD, ids=str)
def test_tile(dtype: np.dtype) -> None:
    sets = [[data(2, 3, dtype=dtype), ints(2, 1)], [data(1, 2, dtype=dtype), ints(0, 3)]]
    check("Tile", *sets, versus="reference")


@pytest.mark.parametrize("dtype", OLD, ids=str)
def test_expand_types(dtype: np.dtype) -> None:
    check("Expand", [data(3, 1, dtype=dtype), ints(2, 1, 4)], versus=versus(dtype), constants=[1])


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("shape", [(1,), (3, 4), (2, 1, 1, 4), (1, 1), (0, 3, 4), ()])
def test_expand(shape: tuple, constant: bool) -> None:
    sets = [[data(3, 1), np.array(shape, np.int64)], [data(3, 4), np.array(shape, np.int64)]]
    check("Expand", *sets, constants=[1] if constant else [])


PADS = [(1, 2, 3, 1), (0, 0, 0, 0), (0, 1, 1, 0), (-1, 2, 0, -1)]


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("pads", PADS)
@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
def test_pad(mode: str, pads: tuple, constant: bool) -> None:
    sets = [[data(4, 5), ints(*pads)], [data(7, 4), ints(*pads)]]
    check("Pad", *sets, constants=[1] if constant else [], mode=mode)


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_pad_types(dtype: np.dtype) -> None:
    fill = data(2, dtype=dtype)[1:].reshape(())
    sets = [[data(2, 3, dtype=dtype), ints(1, 0, 0, 2), fill], [data(1, 2, dtype=dtype), ints(0, 1, 1, 0), fill]]
    check("Pad", *sets, versus="reference", opset=25)


@pytest.mark.parametrize("dtype", [BFLOAT16, *NARROW, np.dtype(np.uint16), np.dtype(object)], ids=str)
@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap"])
def test_pad_modes_types(mode: str, dtype: np.dtype) -> None:
    check("Pad", [data(3, 4, dtype=dtype), ints(1, 0, 0, 2)], versus="reference", opset=25, constants=[1], mode=mode)


@pytest.mark.parametrize("constant", [[1], [3], [1, 3], []])
@pytest.mark.parametrize("axes", [(1,), (-1, 0), (0, 2)])
def test_pad_axes(axes: tuple, constant: list) -> None:
    pads = ints(*range(1, 2 * len(axes) + 1))
    inputs = [data(2, 3, 4), pads, np.array(9, np.float32), ints(*axes)]
    check("Pad", inputs, constants=constant, mode="constant")


def test_pad_int32_axes() -> None:
    check("Pad", [data(2, 3, 4), ints(1, 0, 2, 1), np.array(9, np.float32), ints(-1, 0, dtype=np.int32)])


@pytest.mark.parametrize("mode", ["reflect", "wrap", "edge"])
def test_pad_by_more_than_there_is(mode: str) -> None:
    check("Pad", [data(3), ints(7, 8)], [data(2), ints(1, 5)], versus="reference", mode=mode)


def test_pad_empty() -> None:
    check("Pad", [data(0, 3), ints(1, 0, 1, 0), np.array(2, np.float32)])


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint16, np.bool_, np.complex64], ids=str)
@pytest.mark.parametrize("shape", [(3, 5), (7, 2), (4, 4), (2, 9)])
def test_center_crop_pad(shape: tuple, dtype: type) -> None:
    inputs = [data(4, 5, dtype=dtype), ints(*shape)]
    check("CenterCropPad", inputs, [data(7, 2, dtype=dtype), ints(*shape)], versus="reference")
    check("CenterCropPad", [inputs[0], inputs[1][:1]], versus="reference", constants=[1], axes=[-1])
