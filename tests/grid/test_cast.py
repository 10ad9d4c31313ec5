"""Cast, CastLike, BitCast: all element types in both directions, each value rounded once."""

from __future__ import annotations

import fractions
import math

import ml_dtypes
import numpy as np
import onnx
import onnx.helper as oh
import pytest
from onnx.reference.ops.op_cast import cast_to

from tests.grid.harness import check, edge_values, make_model
from trueport.backend import prepare

T = onnx.TensorProto
WIDE_FLOATS = ["FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16"]
NARROW_FLOATS = [
    "FLOAT8E4M3FN",
    "FLOAT8E4M3FNUZ",
    "FLOAT8E5M2",
    "FLOAT8E5M2FNUZ",
    "FLOAT6E2M3",
    "FLOAT6E3M2",
    "FLOAT4E2M1",
]
FLOATS = [*WIDE_FLOATS, *NARROW_FLOATS]
INTEGERS = [sign + str(bits) for bits in (2, 4, 8, 16, 32, 64) for sign in ("INT", "UINT")]
BITS = {"FLOAT6E2M3": 6, "FLOAT6E3M2": 6, "FLOAT4E2M1": 4, "INT2": 2, "UINT2": 2, "INT4": 4, "UINT4": 4}


def numpy_type(name: str) -> np.dtype:
    return np.dtype(oh.tensor_dtype_to_np_dtype(getattr(T, name)))


def every(name: str) -> np.ndarray:
    """All values of a type of few bits; edges and ties of a wider one."""
    dtype = numpy_type(name)
    if dtype.itemsize == 1 and name != "BOOL":
        return np.arange(1 << BITS.get(name, 8), dtype=np.uint8).view(dtype)
    if name in FLOATS:
        ties = np.arange(-300, 300) / 32
        return np.concatenate([edge_values(dtype), ties.astype(dtype), (ties * 512).astype(dtype)])
    return edge_values(dtype)


def run(op: str, x: np.ndarray, opset: int = 28, **attributes: object) -> np.ndarray:
    return prepare(make_model(op, [[x]], opset=opset, **attributes)).run([x])[0]


def assert_same(got: np.ndarray, want: np.ndarray, label: str = "") -> None:
    """Equal values and signs of zero, NaN as NaN; a denormal may have become zero."""
    assert got.dtype == want.dtype and got.shape == want.shape, label
    if want.dtype.kind in "biu" or want.dtype.name.startswith(("int", "uint")):
        np.testing.assert_array_equal(got.astype(np.int8) if got.dtype.kind == "V" else got, want, label)
        return
    g, w = got.astype(np.float64), want.astype(np.float64)
    # Of the source, where the target is double.
    tiny = float(np.finfo(np.float32).tiny) if want.dtype.itemsize >= 4 else float(ml_dtypes.finfo(want.dtype).tiny)
    tiny = tiny if want.dtype.itemsize > 1 else 0
    same = (g == w) & (np.signbit(g) == np.signbit(w)) | np.isnan(g) & np.isnan(w) | (g == 0) & (np.abs(w) < tiny)
    assert np.all(same), f"{label}: {got[~same]}, want {want[~same]}"


def defined(source: str, target: str) -> np.ndarray:
    """Values of the source whose conversion the specification defines."""
    x = every(source)
    wide = x.astype(np.float64)
    if source in FLOATS and target in INTEGERS:
        # A float outside of the integers' range is undefined.
        info = ml_dtypes.iinfo(numpy_type(target))
        return x[(wide > int(info.min) - 1) & (wide < 2.0 ** math.ceil(math.log2(int(info.max))))]
    if target in ("FLOAT6E2M3", "FLOAT6E3M2", "FLOAT4E2M1"):
        # Types without a NaN: the sign of the zero that stands for it is nobody's promise.
        return x[~np.isnan(wide)]
    if "FNUZ" in target:
        # ml_dtypes makes NaN of some ties of the smallest number; the specification rounds them to zero.
        return x[(np.abs(wide) > 1e-5) | (wide == 0) | np.isnan(wide)]
    return x


@pytest.mark.parametrize("source", [*FLOATS, *INTEGERS, "BOOL"])
def test_every_pair_of_types(source):
    # Not to itself: the reference saturates the infinities of FLOAT8E5M2 even then.
    targets = [name for name in (*FLOATS, *INTEGERS, "BOOL") if name != source]
    nodes = [oh.make_node("Cast", [f"x_{to}"], [f"y_{to}"], to=getattr(T, to)) for to in targets]
    inputs = [oh.make_tensor_value_info(f"x_{to}", getattr(T, source), [f"n_{to}"]) for to in targets]
    outputs = [oh.make_tensor_value_info(f"y_{to}", getattr(T, to), [f"n_{to}"]) for to in targets]
    graph = oh.make_graph(nodes, "casts", inputs, outputs)
    given = {to: defined(source, to) for to in targets}
    rep = prepare(oh.make_model(graph, opset_imports=[oh.make_opsetid("", 28)]))
    results = rep.run({f"x_{to}": x for to, x in given.items()})
    for (to, x), got in zip(given.items(), results, strict=True):
        # ml_dtypes can't convert all narrow types into each other.
        wide = x if x.dtype.itemsize > 1 or source == "BOOL" else x.astype(np.float32 if source in FLOATS else np.int16)
        with np.errstate(all="ignore"):
            want = cast_to(wide, getattr(T, to), True)
        assert_same(got, want, f"{source} to {to}")


@pytest.mark.parametrize("target", NARROW_FLOATS[:4])
@pytest.mark.parametrize("source", WIDE_FLOATS)
def test_without_saturation(source, target):
    x = defined(source, target)
    with np.errstate(all="ignore"):
        want = cast_to(x, getattr(T, target), False)
    assert_same(run("Cast", x, to=getattr(T, target), saturate=0), want)


def nearest(value: fractions.Fraction, mantissa: int) -> float:
    """The nearest number with so many significant bits, ties to even."""
    exponent = math.floor(math.log2(abs(value))) - mantissa + 1
    return float(round(value / fractions.Fraction(2) ** exponent) * fractions.Fraction(2) ** exponent)


@pytest.mark.parametrize("target, digits", [("FLOAT16", 11), ("BFLOAT16", 8), ("FLOAT", 24)])
def test_doubles_are_rounded_once(target, digits):
    # A hair beside a tie: rounding to float32 first would make it a tie.
    ties = np.array([1 + (2 * k + 1) * 2.0**-digits for k in range(8)])
    hair = 2.0**-45
    x = np.concatenate([ties - hair, ties, ties + hair, -ties - hair, -ties + hair])
    want = np.array([nearest(fractions.Fraction(v), digits) for v in x])
    assert_same(run("Cast", x, to=getattr(T, target)), want.astype(numpy_type(target)))


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64])
@pytest.mark.parametrize("target, digits", [("BFLOAT16", 8), ("FLOAT", 24), ("DOUBLE", 53)])
def test_integers_are_rounded_once(dtype, target, digits):
    top = np.iinfo(dtype).bits - 2
    ties = [2**top + (2 * k + 1) * 2 ** max(top - digits, 0) for k in range(8)]
    whole = [tie + beside for tie in ties for beside in (-1, 0, 1)]
    if np.iinfo(dtype).min:
        whole += [-value for value in whole]
    want = [nearest(fractions.Fraction(v), digits) for v in whole]
    got = run("Cast", np.array(whole, dtype), to=getattr(T, target))
    np.testing.assert_array_equal(got.astype(np.float64), want)


ROUNDED = {
    "up": {0.75: 127, 1.0: 127, 1.01: 128, 1.5: 128, 1.75: 128, 2.0: 128},
    "down": {0.75: 126, 1.0: 127, 1.01: 127, 1.5: 127, 1.75: 127, 2.0: 128},
    "nearest": {0.74: 126, 0.75: 127, 1.0: 127, 1.01: 127, 1.49: 127, 1.5: 128, 1.75: 128, 2.0: 128},
}


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
@pytest.mark.parametrize("round_mode", ["up", "down", "nearest"])
def test_powers_of_two(dtype, round_mode):
    x = np.array(list(ROUNDED[round_mode])).astype(dtype)
    want = np.array(list(ROUNDED[round_mode].values()), np.uint8)
    got = run("Cast", x, to=T.FLOAT8E8M0, round_mode=round_mode).view(np.uint8)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("saturate", [0, 1])
def test_ends_of_the_powers_of_two(dtype, saturate):
    least, greatest = 2.0**-127, 2.0**127
    x = [0, least / 4, least, least * 1.25, least * 1.5, least * 2, greatest, greatest * 1.5, np.inf, np.nan]
    # The specification's table; ONNX's own helper makes NaN of infinity in either case.
    want = [0, 0, 0, 1, 1, 1, 254, 254, 254, 255] if saturate else [255, 255, 0, 1, 1, 1, 254, 255, 255, 255]
    got = run("Cast", np.array(x, dtype), to=T.FLOAT8E8M0, round_mode="up", saturate=saturate)
    np.testing.assert_array_equal(got.view(np.uint8), want)


@pytest.mark.parametrize("target", [*WIDE_FLOATS, "INT32"])
def test_from_powers_of_two(target):
    x = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e8m0fnu)
    x = x[100:150] if target == "INT32" else x
    with np.errstate(all="ignore"):
        want = x.astype(np.float64).astype(numpy_type(target))
    got = run("Cast", x, to=getattr(T, target))
    np.testing.assert_array_equal(got.astype(np.float64), want.astype(np.float64))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int8, np.int64, np.uint64, bool])
def test_numbers_as_text(dtype):
    x = np.array([True, False]) if dtype is bool else edge_values(dtype)
    if x.dtype.kind == "f":
        x = np.concatenate([x[np.abs(x) > 1e-30], np.array([1 / 3, 2 / 3, 12345.678, 1e-5, 1e7, 0.1 + 0.2], dtype)])
    check("Cast", [x], [x[:0]], to=T.STRING)


@pytest.mark.parametrize("target", ["FLOAT", "DOUBLE", "FLOAT16"])
def test_text_as_floats(target):
    text = ["3.14", "1000", "1e-5", "1E8", "-2.5", "INF", "+INF", "-INF", "inf", "NaN", "nan", "0.1", "-0"]
    check("Cast", [np.array(text, object)], to=getattr(T, target))


@pytest.mark.parametrize("target", ["INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64", "BOOL"])
def test_text_as_integers(target):
    text = ["0", "1", "7", "+5", " 12"] + (["100.5", "-3.9", "-1"] if target != "BOOL" else [])
    check("Cast", [np.array(text, object)], [np.array([], object)], to=getattr(T, target))


def test_text_as_large_integers():
    signed = np.array([str(2**63 - 1), str(-(2**63))], object)
    np.testing.assert_array_equal(run("Cast", signed, to=T.INT64), [2**63 - 1, -(2**63)])
    np.testing.assert_array_equal(run("Cast", np.array([str(2**64 - 1)], object), to=T.UINT64), [2**64 - 1])


def test_denormals_are_true():
    x = np.array([1e-45, -1e-45, 0.0, -0.0], np.float32)
    np.testing.assert_array_equal(run("Cast", x, to=T.BOOL), [True, True, False, False])


@pytest.mark.parametrize("like", ["FLOAT16", "INT64", "FLOAT8E5M2FNUZ", "STRING", "UINT4"])
def test_cast_like(like):
    x = np.array([0.5, 1.5, 3, 7], np.float32)
    other = np.array(["a"], object) if like == "STRING" else np.zeros(1, numpy_type(like))
    got = prepare(make_model("CastLike", [[x, other]])).run([x, other])[0]
    want = np.array(["0.5", "1.5", "3", "7"], object) if like == "STRING" else x.astype(other.dtype)
    assert got.dtype == want.dtype and (got == want).all()


WIDTHS = [
    ["INT8", "UINT8", "FLOAT8E4M3FN", "FLOAT8E5M2", "FLOAT8E4M3FNUZ", "FLOAT8E5M2FNUZ", "FLOAT8E8M0"],
    ["INT16", "UINT16", "FLOAT16", "BFLOAT16"],
    ["INT32", "UINT32", "FLOAT"],
    ["INT64", "UINT64", "DOUBLE", "COMPLEX64"],
    ["INT4", "UINT4", "FLOAT4E2M1"],
    ["INT2", "UINT2"],
]


@pytest.mark.parametrize("source, target", [(a, b) for names in WIDTHS for a in names for b in names if a != b])
def test_bits_as_another_type(source, target):
    bits = BITS.get(source, 8)
    size = numpy_type(source).itemsize
    codes = np.arange(1 << bits, dtype=np.uint8)
    if source == "FLOAT8E5M2":
        codes = np.array([c for c in codes if c & 0x7F not in (0x7D, 0x7F)], np.uint8)  # the declared limit
    raw = codes if size == 1 else np.random.default_rng(0).integers(0, 256, 64 * size, dtype=np.uint8)
    got = run("BitCast", raw.view(numpy_type(source)), to=getattr(T, target))
    assert got.dtype == numpy_type(target)
    np.testing.assert_array_equal(got.view(np.uint8), raw)


def test_bits_of_truth():
    assert run("BitCast", np.array([True, False]), to=T.UINT8).tolist() == [1, 0]
    assert run("BitCast", np.array([1, 0], np.uint8), to=T.BOOL).tolist() == [True, False]


def test_nans_of_float8e5m2_lose_their_payload():
    codes = np.array([0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF], np.uint8)
    got = run("BitCast", codes.view(ml_dtypes.float8_e5m2), to=T.UINT8)
    assert got.tolist() == [0x7E] * 3 + [0xFE] * 3  # the declared limit; not needed any more if this fails
