"""Convolutions over any number of axes: pads, strides, dilations, groups, dtypes, layouts, sizes unknown."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest

from tests.grid.harness import assert_close, check, make_model, run_ort, run_reference
from tests.grid.layouts import check_channels_last, check_half
from trueport.backend import prepare
from trueport.fidelity import accumulation

RNG = np.random.default_rng(11)
HALVES = [np.float16, ml_dtypes.bfloat16]


def normal(*shape: int, dtype: object = np.float32) -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


CASES = {
    "plain": ((2, 3, 8, 9), (4, 3, 3, 3), {}),
    "pads": ((2, 3, 8, 9), (4, 3, 3, 3), {"pads": [1, 0, 2, 3]}),
    "pads wider than the kernel": ((1, 2, 5, 5), (3, 2, 2, 2), {"pads": [3, 2, 4, 3]}),
    "strides": ((2, 3, 8, 9), (4, 3, 3, 2), {"strides": [2, 3], "pads": [1, 1, 1, 1]}),
    "strides over the kernel": ((1, 3, 9, 9), (4, 3, 1, 1), {"strides": [3, 2]}),
    "dilations": ((2, 3, 9, 9), (4, 3, 3, 3), {"dilations": [2, 3], "pads": [2, 3, 2, 3]}),
    "dilations and strides": ((2, 3, 9, 9), (4, 3, 3, 3), {"dilations": [2, 2], "strides": [2, 1]}),
    "groups": ((2, 6, 8, 9), (4, 3, 3, 3), {"group": 2, "pads": [1, 1, 1, 1]}),
    "depthwise": ((2, 4, 8, 9), (4, 1, 3, 3), {"group": 4, "pads": [1, 1, 1, 1]}),
    "depthwise, multiplied": ((2, 4, 8, 9), (8, 1, 3, 3), {"group": 4, "strides": [2, 2]}),
    "depthwise, uneven strides": ((2, 4, 8, 9), (4, 1, 3, 3), {"group": 4, "strides": [2, 1]}),
    "depthwise, dilated": ((2, 4, 9, 9), (4, 1, 3, 3), {"group": 4, "dilations": [2, 2], "pads": [2, 2, 2, 2]}),
    "depthwise, dilated and strided": (
        (2, 4, 9, 9),
        (4, 1, 3, 3),
        {"group": 4, "dilations": [2, 1], "strides": [2, 2]},
    ),
    "same upper": ((2, 3, 8, 9), (4, 3, 3, 2), {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
    "same lower": ((2, 3, 8, 9), (4, 3, 3, 2), {"auto_pad": "SAME_LOWER", "strides": [2, 2]}),
    "same lower, no strides": ((2, 3, 8, 9), (4, 3, 4, 2), {"auto_pad": "SAME_LOWER"}),
    "valid": ((2, 3, 8, 9), (4, 3, 3, 2), {"auto_pad": "VALID", "strides": [2, 1]}),
    "1-D": ((2, 3, 8), (4, 3, 3), {"pads": [1, 2], "strides": [2]}),
    "1-D groups": ((2, 4, 8), (6, 2, 3), {"group": 2, "dilations": [2]}),
    "1-D depthwise": ((2, 4, 8), (4, 1, 3), {"group": 4, "strides": [2]}),
    "3-D": ((2, 3, 5, 6, 7), (4, 3, 3, 2, 3), {"pads": [1, 0, 1, 0, 1, 2], "strides": [1, 2, 1]}),
    "3-D dilations": ((1, 3, 6, 6, 7), (4, 3, 2, 2, 3), {"dilations": [2, 3, 1], "strides": [2, 1, 1]}),
    "3-D groups": ((1, 4, 5, 5, 5), (4, 2, 3, 2, 3), {"group": 2, "pads": [1, 1, 1, 1, 1, 1], "strides": [2, 2, 1]}),
    "3-D same upper": ((1, 2, 5, 6, 7), (3, 2, 2, 3, 2), {"auto_pad": "SAME_UPPER", "strides": [2, 2, 2]}),
    "3-D same upper groups": (
        (1, 2, 5, 6, 7),
        (2, 1, 2, 3, 2),
        {"auto_pad": "SAME_UPPER", "strides": [2, 1, 2], "group": 2},
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("stored", [(), (1, 2)], ids=["fed", "stored"])
def test_conv(case, stored):
    x, w, attributes = CASES[case]
    if not stored and case.startswith("3-D"):
        attributes = {**attributes, "kernel_shape": w[2:]}
    kernel, bias = normal(*w), normal(w[0])
    larger = [s + 1 if i != 1 else s for i, s in enumerate(x)]
    check("Conv", [normal(*x), kernel, bias], [normal(*larger), kernel, bias], constants=stored, terms=54, **attributes)


@pytest.mark.parametrize("case", CASES)
def test_conv_channels_last(case):
    x, w, attributes = CASES[case]
    check_channels_last("Conv", normal(*x), normal(*w), normal(w[0]), **attributes)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("case", ["pads", "depthwise", "groups", "1-D", "3-D dilations"])
def test_conv_in_half_precision(case, dtype):
    x, w, attributes = CASES[case]
    check_half("Conv", dtype, normal(*x), normal(*w), normal(w[0]), kernel_shape=w[2:], **attributes)


@pytest.mark.parametrize("case", ["pads", "dilations", "depthwise, dilated", "groups", "3-D", "3-D dilations"])
def test_conv_in_double_precision(case):
    x, w, attributes = CASES[case]
    arrays = [normal(*x, dtype=np.float64), normal(*w, dtype=np.float64)]
    check("Conv", arrays, terms=54, kernel_shape=w[2:], versus="reference", **attributes)


def test_conv_over_four_axes():
    """ONNX Runtime stops at three axes: an axis of one element more must change nothing."""
    x, w = normal(1, 2, 5, 4, 5, 6), normal(3, 2, 1, 2, 3, 2)
    model = make_model("Conv", [[x, w]], constants=[1], pads=[0, 1, 0, 1, 0, 0, 1, 0], strides=[1, 1, 2, 1])
    inner = make_model("Conv", [[x[:, :, 0], w[:, :, 0]]], constants=[1], pads=[1, 0, 1, 0, 1, 0], strides=[1, 2, 1])
    got = prepare(model).run({"x0": x})[0]
    for depth in range(5):
        assert_close(got[:, :, depth], run_ort(inner, {"x0": x[:, :, depth]})[0], accumulation(), 24)


def test_conv_with_negative_pads():
    """Cuts the data: the same as a convolution of what is left."""
    x, w = normal(1, 2, 8, 8), normal(3, 2, 3, 3)
    got = prepare(make_model("Conv", [[x, w]], pads=[-1, 1, 0, -2])).run({"x0": x, "x1": w})[0]
    cut = x[:, :, 1:, :-2]
    want = run_ort(make_model("Conv", [[cut, w]], pads=[0, 1, 0, 0]), {"x0": cut, "x1": w})[0]
    assert_close(got, want, accumulation(), 18)


def test_conv_of_no_samples():
    """As after a selection that found nothing."""
    model = onnx.parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 22]>
        chosen (float[N, 2, 8, 8] x, bool[N] keep, float[3, 2, 3, 3] w, float[3] b) => (float[K, 3, 6, 6] y) {
            some = Compress <axis = 0> (x, keep)
            y = Conv (some, w, b)
        }""")
    x, w, b = normal(2, 2, 8, 8), normal(3, 2, 3, 3), normal(3)
    for keep in ([False, False], [False, True]):
        feeds = {"x": x, "keep": np.array(keep), "w": w, "b": b}
        assert_close(prepare(model).run(feeds)[0], run_ort(model, feeds)[0], accumulation(), 18)


TRANSPOSED = {
    "plain": ((2, 3, 4, 5), (3, 4, 3, 3), {}),
    "strides": ((2, 3, 4, 5), (3, 4, 3, 3), {"strides": [2, 3]}),
    "strides over the kernel": ((2, 3, 4, 5), (3, 4, 2, 1), {"strides": [3, 3]}),
    "pads": ((2, 3, 4, 5), (3, 4, 3, 3), {"strides": [2, 2], "pads": [1, 0, 2, 1]}),
    "output padding": ((2, 3, 4, 5), (3, 4, 3, 3), {"strides": [2, 3], "pads": [1, 1, 1, 1], "output_padding": [1, 2]}),
    "output shape": ((2, 3, 4, 5), (3, 4, 3, 3), {"strides": [2, 2], "output_shape": [8, 10]}),
    "same upper": ((2, 3, 4, 5), (3, 4, 3, 4), {"strides": [2, 2], "auto_pad": "SAME_UPPER"}),
    "same lower": ((2, 3, 4, 5), (3, 4, 3, 4), {"strides": [2, 2], "auto_pad": "SAME_LOWER"}),
    "dilations": ((2, 3, 4, 5), (3, 4, 3, 2), {"strides": [2, 1], "dilations": [2, 3], "pads": [1, 0, 1, 1]}),
    "groups": ((2, 4, 4, 5), (4, 3, 3, 3), {"strides": [2, 2], "pads": [1, 1, 1, 1], "group": 2}),
    "groups, dilated": ((2, 4, 4, 5), (4, 3, 3, 3), {"dilations": [2, 2], "group": 2}),
    "depthwise": ((2, 4, 4, 5), (4, 1, 4, 4), {"strides": [2, 2], "pads": [1, 1, 1, 1], "group": 4}),
    "depthwise, joined": ((2, 4, 4, 5), (4, 1, 3, 3), {"strides": [2, 2], "group": 2}),
    "depthwise, uneven strides": ((2, 4, 4, 5), (4, 1, 3, 3), {"strides": [2, 1], "group": 4}),
    "1-D": ((2, 3, 4), (3, 4, 3), {"strides": [2], "pads": [1, 0], "output_padding": [1]}),
    "1-D groups": ((2, 4, 4), (4, 1, 3), {"strides": [2], "group": 4}),
    "3-D": (
        (2, 3, 3, 4, 3),
        (3, 2, 3, 2, 3),
        {"strides": [2, 1, 2], "pads": [1, 0, 1, 0, 1, 1], "output_padding": [1, 0, 0]},
    ),
    "3-D groups": ((2, 4, 3, 4, 3), (4, 2, 2, 2, 2), {"strides": [2, 2, 2], "group": 2}),
    "3-D dilations": ((1, 2, 3, 3, 3), (2, 2, 2, 2, 2), {"dilations": [2, 1, 1], "strides": [1, 2, 1]}),
}


@pytest.mark.parametrize("case", TRANSPOSED)
def test_conv_transpose(case):
    x, w, attributes = TRANSPOSED[case]
    kernel, bias = normal(*w), normal(w[1] * attributes.get("group", 1))
    sets = [[normal(*x), kernel, bias]]
    if "output_shape" not in attributes:
        sets.append([normal(*(s + 1 if i != 1 else s for i, s in enumerate(x))), kernel, bias])
    check("ConvTranspose", *sets, constants=(1, 2), terms=54, **attributes)


@pytest.mark.parametrize("case", TRANSPOSED)
def test_conv_transpose_channels_last(case):
    x, w, attributes = TRANSPOSED[case]
    check_channels_last("ConvTranspose", normal(*x), normal(*w), **attributes)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("case", ["pads", "depthwise", "3-D", "dilations"])
def test_conv_transpose_in_half_precision(case, dtype):
    x, w, attributes = TRANSPOSED[case]
    check_half("ConvTranspose", dtype, normal(*x), normal(*w), kernel_shape=w[2:], **attributes)


DEFORMED = {
    "plain": ((1, 2, 5, 6), (3, 2, 2, 2), (1, 8, 4, 5), {}),
    "pads": ((2, 2, 5, 6), (3, 2, 3, 2), (2, 12, 5, 7), {"pads": [1, 1, 1, 1]}),
    "strides": ((1, 2, 7, 7), (3, 2, 3, 3), (1, 18, 3, 2), {"strides": [2, 3]}),
    "groups": ((1, 4, 5, 6), (4, 2, 2, 2), (1, 16, 4, 5), {"group": 2, "offset_group": 2}),
    "dilations": ((1, 2, 6, 6), (3, 2, 2, 2), (1, 8, 4, 4), {"dilations": [2, 2]}),
}


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("case", DEFORMED)
def test_deform_conv(case, masked):
    x, w, offset, attributes = DEFORMED[case]
    taps = offset[1] // 2
    mask = RNG.random((offset[0], taps, *offset[2:])).astype(np.float32) if masked else None
    arrays = [normal(*x), normal(*w), 2 * normal(*offset), normal(w[0]), mask]
    check("DeformConv", arrays, terms=32, versus="reference", kernel_shape=w[2:], **attributes)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "shape, image, block, attributes",
    [
        ((1, 4, 9), [4, 4], [2, 2], {}),
        ((2, 12, 4), [5, 5], [2, 2], {"strides": [3, 3]}),
        ((1, 6, 12), [3, 4], [2, 3], {"pads": [1, 1, 1, 0]}),
        ((1, 4, 9), [5, 5], [2, 2], {"dilations": [2, 2]}),
        ((1, 8, 12), [3, 4, 3], [2, 2, 2], {}),
    ],
    ids=["plain", "strides", "pads", "dilations", "3-D"],
)
def test_col2im(shape, image, block, attributes, dtype):
    arrays = [normal(*shape, dtype=dtype), np.array(image), np.array(block)]
    check("Col2Im", arrays, versus="reference", constants=(1, 2), terms=8, **attributes)


@pytest.mark.parametrize("dtype", [np.int32, np.uint64, np.uint8, np.int8])
def test_col2im_of_integers(dtype):
    data = RNG.integers(0, 100, (1, 4, 9)).astype(dtype)
    check("Col2Im", [data, np.array([4, 4]), np.array([2, 2])], versus="reference", strides=[1, 1])


def causal(
    batch: int, length: int, dtype: object, *, bias: bool, past: bool, kernel: int = 4
) -> list[np.ndarray | None]:
    return [
        normal(batch, 3, length, dtype=dtype),
        normal(3, 1, kernel, dtype=dtype),
        normal(3, dtype=dtype) if bias else None,
        normal(batch, 3, kernel - 1, dtype=dtype) if past else None,
    ]


@pytest.mark.parametrize("activation", ["none", "silu", "swish"])
@pytest.mark.parametrize(("bias", "past"), [(True, True), (True, False), (False, True), (False, False)])
@pytest.mark.parametrize("stored", [(), (1,)], ids=["fed", "stored"])
def test_causal_conv_with_state(activation, bias, past, stored):
    first = causal(2, 6, np.float32, bias=bias, past=past)
    # A single step, shorter than the state, keeps some of what was there before.
    single = [first[0][:, :, :1], *first[1:]]
    check(
        "CausalConvWithState",
        first,
        single,
        outputs=2,
        versus="reference",
        opset=27,
        constants=stored,
        terms=4,
        activation=activation,
    )


@pytest.mark.parametrize("dtype", HALVES)
def test_causal_conv_with_state_in_half_precision(dtype):
    inputs = causal(2, 6, dtype, bias=True, past=True)
    model = make_model("CausalConvWithState", [inputs], 2, opset=27, activation="silu")
    wide = make_model("CausalConvWithState", [[x.astype(np.float32) for x in inputs]], 2, opset=27, activation="silu")
    got = prepare(model).run({f"x{i}": x for i, x in enumerate(inputs)})
    want = run_reference(wide, {f"x{i}": x.astype(np.float32) for i, x in enumerate(inputs)})
    for g, w in zip(got, want, strict=True):
        assert_close(g, w, accumulation(4), 4)


def test_causal_conv_with_state_goes_on_where_it_stopped():
    x, w, b, state = causal(1, 7, np.float32, bias=True, past=True)
    model = prepare(make_model("CausalConvWithState", [[x, w, b, state]], 2, opset=27))
    whole, end = model.run([x, w, b, state])
    early, carried = model.run([x[:, :, :2], w, b, state])
    late, last = model.run([x[:, :, 2:], w, b, carried])
    assert_close(np.concatenate([early, late], 2), whole, accumulation(4), 4)
    assert np.array_equal(last, end)
