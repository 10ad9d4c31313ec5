"""ONNX Runtime's products of 8-bit integers that end in floats, and its quantized Gemm."""

from __future__ import annotations

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.barrier import opaque
from trueport.backends.tensorflow.kernels.integer_sums import integer_matmul
from trueport.backends.tensorflow.kernels.linear_quantization import dynamic_parameters, quantize, requantize
from trueport.mapping.declare import maps

__all__: list[str] = []

_MS = "com.microsoft"


@maps("MatMulIntegerToFloat", domain=_MS)
def mat_mul_integer_to_float(
    t: Emission,
    A: Tensor,
    B: Tensor,
    a_scale: Tensor,
    b_scale: Tensor,
    a_zero_point: Tensor | None,
    b_zero_point: Tensor | None,
    bias: Tensor | None,
) -> Tensor:
    total = integer_matmul(t, A, B, _scalar(a_zero_point), b_zero_point, weight=1)
    return _to_float(total, opaque(_scalar(a_scale)) * opaque(b_scale), bias)


@maps("DynamicQuantizeMatMul", domain=_MS)
def dynamic_quantize_mat_mul(
    t: Emission, A: Tensor, B: Tensor, b_scale: Tensor, b_zero_point: Tensor | None, bias: Tensor | None
) -> Tensor:
    scale, zero_point = dynamic_parameters(A)
    total = integer_matmul(t, quantize(A, scale, zero_point), B, zero_point, b_zero_point, weight=1)
    return _to_float(total, scale * opaque(b_scale), bias)


@maps("MatMulInteger16", domain=_MS)
def mat_mul_integer16(t: Emission, A: Tensor, B: Tensor) -> Tensor:
    return integer_matmul(t, A, B, None, None, weight=1)


@maps("QGemm", domain=_MS)
def qgemm(
    t: Emission,
    A: Tensor,
    a_scale: Tensor,
    a_zero_point: Tensor,
    B: Tensor,
    b_scale: Tensor,
    b_zero_point: Tensor,
    C: Tensor | None,
    y_scale: Tensor | None,
    y_zero_point: Tensor | None,
    *,
    alpha: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Tensor:
    """Integers when there is a scale for them, else floats."""
    a = tf.transpose(A) if transA else A
    total = integer_matmul(t, a, B, _scalar(a_zero_point), b_zero_point, weight=3, transposed=bool(transB))
    biased = tf.cast(total if C is None else total + C, tf.float32)
    scale = opaque(tf.constant(alpha, tf.float32)) * opaque(_scalar(a_scale)) * opaque(b_scale)
    if y_scale is None:
        return biased * scale
    return requantize(biased * (scale / opaque(y_scale)), y_zero_point, A.dtype)


def _scalar(parameter: Tensor | None) -> Tensor | None:
    """A parameter for the whole tensor may come as a vector of one."""
    return None if parameter is None else tf.reshape(parameter, [])


def _to_float(total: Tensor, scale: Tensor, bias: Tensor | None) -> Tensor:
    scaled = tf.cast(total, tf.float32) * scale
    return scaled if bias is None else scaled + bias
