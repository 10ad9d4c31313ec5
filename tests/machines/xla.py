"""What fails when TensorFlow compiles graphs by itself (XLA's automatic clustering), and why.

A case named here that passes is reported as well: the list must stay true.
"""

from __future__ import annotations

__all__ = ["CORRUPTING", "FAILING", "FAILING_ON_INTEGERS"]

CORRUPTING = "^test_strnorm"
"""Not run: how many strings are left depends on the data, and TensorFlow writes beyond the memory of its result."""

FAILING: dict[str, str] = {
    "XLA packs two 4-bit integers into a byte, TensorFlow does not": (
        "^test_(cast|castlike)_FLOAT(16)?_to_U?INT4(_expanded)?$|^test_(de)?quantizelinear_u?int4$"
    ),
    "XLA compiles an operator whose axes or sizes are inputs of the model, and must know them": (
        "^test_center_crop_pad_(crop|pad|crop_and_pad)$|^test_center_crop_pad_crop_(negative_)?axes_[hwc]+(_expanded)?$"
        "|^test_constant_pad_(negative_)?axes$"
        "|^test_slice(_neg|_start_out_of_bounds|_end_out_of_bounds|_default_steps|_neg_steps|_negative_axes)?$"
        "|^test_squeeze(_negative_axes)?$|^test_unsqueeze_(axis_[012]|two_axes|three_axes|unsorted_axes|negative_axes)$"
    ),
    "XLA multiplies and adds with one rounding; places halfway between two elements go to the other one": (
        "^test_gridsample_(nearest|nearest_align_corners_[01]_additional_1|volumetric_nearest_align_corners_[01])$"
        "|^test_resize_upsample_sizes_nearest(_axes_(2_3|3_2))?$"
    ),
    "logits of 9e9, where a last place is 1,024: XLA computes them twice, differently, and takes their difference": (
        "^test_squeezenet$"
    ),
}
"""Cases of ONNX's suite, by reason."""

FAILING_ON_INTEGERS = {
    "XLA packs two 4-bit integers into a byte, TensorFlow does not": 9,
    "XLA multiplies and adds with one rounding; values halfway between two steps go to the other one": 8,
}
"""How many of the tests of integers and convolutions fail, by reason."""
