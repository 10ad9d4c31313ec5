"""Operators: another one of the same signature, a relative, an approximation, none, or the same twice."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping

import numpy as np
from onnx import helper

from bench.faults.strangers.kind import Change, Collector, name_words
from bench.faults.strangers.schemas import same_signature, schemas
from bench.faults.strangers.site import FLOATS, INTEGERS, Site

__all__ = ["KINDS"]

_collect = Collector()


def _of_shape(inputs: int, outputs: int = 1) -> frozenset[str]:
    """Return operators with so many required inputs and outputs."""
    return frozenset(
        s.name for s in schemas() if len(s.inputs) == inputs and len(s.outputs) == outputs and not s.domain
    )


def _replace(site: Site, new: str) -> Change:
    """Let the node be another operator; attributes that it does not have are removed."""
    old = site.op
    site.node.op_type = new
    schema = site.schema
    known = set(schema.attributes) if schema is not None else set()
    for attribute in [item.name for item in site.node.attribute if item.name not in known]:
        site.drop_attribute(attribute)
    return Change(f"{old} becomes {new}", (*name_words(new), r"\banother operator", r"\bdifferent operator"))


def _replace_by_signature(site: Site, allowed: Collection[str]) -> Change | None:
    schema, tensor = site.schema, site.input(0)
    if schema is None or tensor is None:
        return None
    # By the newest schema: older ones of the same operator differ in types only.
    newest = next(item for item in schemas() if item.name == schema.name and item.domain == schema.domain)
    names = [item.name for item in same_signature(newest, tensor.dtype) if item.name in allowed]
    new = site.pick(names)
    return None if new is None else _replace(site, new)


_REDUCTIONS = frozenset(s.name for s in schemas() if s.name.startswith("Reduce"))
_COMPARISONS = frozenset({"Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"})
_LOGICAL = frozenset({"And", "Or", "Xor"})
_BITWISE = frozenset({"BitwiseAnd", "BitwiseOr", "BitwiseXor"})
for _name, _group in (
    ("operator_unary_replaced", _of_shape(1)),
    ("operator_binary_replaced", _of_shape(2) - _COMPARISONS - _LOGICAL - _BITWISE),
    ("operator_comparison_replaced", _COMPARISONS),
    ("operator_logical_replaced", _LOGICAL),
    ("operator_bitwise_replaced", _BITWISE),
    ("operator_variadic_replaced", frozenset({"Max", "Min", "Sum", "Mean"})),
    ("operator_reduction_replaced", _REDUCTIONS),
    ("operator_arg_replaced", frozenset({"ArgMax", "ArgMin"})),
):
    _collect.add(_name, _group, functools.partial(_replace_by_signature, allowed=_group))


_RELATIVES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "activation_relative": {
        "Relu": ("LeakyRelu", "Elu", "Softplus", "ThresholdedRelu", "Gelu"),
        "LeakyRelu": ("Relu", "Elu"),
        "Elu": ("Celu", "Selu", "LeakyRelu"),
        "Selu": ("Elu",),
        "Celu": ("Elu",),
        "Sigmoid": ("HardSigmoid",),
        "HardSigmoid": ("Sigmoid",),
        "Tanh": ("Softsign", "Erf"),
        "Softsign": ("Tanh",),
        "Gelu": ("Mish", "HardSwish", "Relu"),
        "HardSwish": ("Mish", "Relu"),
        "Mish": ("HardSwish", "Gelu"),
        "Softplus": ("Relu", "Elu"),
    },
    "rounding_relative": {"Floor": ("Round", "Ceil"), "Round": ("Floor", "Ceil"), "Ceil": ("Round", "Floor")},
    "comparison_strictness": {
        "Less": ("LessOrEqual",),
        "LessOrEqual": ("Less",),
        "Greater": ("GreaterOrEqual",),
        "GreaterOrEqual": ("Greater",),
    },
    "pool_relative": {
        "MaxPool": ("AveragePool", "LpPool"),
        "AveragePool": ("MaxPool", "LpPool"),
        "GlobalAveragePool": ("GlobalMaxPool",),
        "GlobalMaxPool": ("GlobalAveragePool",),
        "LpPool": ("AveragePool", "MaxPool"),
    },
    "softmax_relative": {
        "Softmax": ("LogSoftmax", "Hardmax"),
        "LogSoftmax": ("Softmax",),
        "Hardmax": ("Softmax",),
    },
    "gather_relative": {"Gather": ("GatherElements",), "GatherElements": ("Gather",)},
}


def _replace_by_relative(site: Site, relatives: Mapping[str, tuple[str, ...]]) -> Change | None:
    if len(site.node.output) > 1:
        return None
    return _replace(site, site.pick(relatives[site.op]))


for _name, _by_operator in _RELATIVES.items():
    _collect.add(_name, _by_operator, functools.partial(_replace_by_relative, relatives=_by_operator))


# Approximations and other formulas, built from other operators.


def _number(site: Site, value: float) -> str:
    """Return a scalar of the first operand's type."""
    tensor = site.input(0)
    assert tensor is not None
    return site.add_constant(np.asarray(value, helper.tensor_dtype_to_np_dtype(tensor.dtype)))


def _is_float(site: Site) -> bool:
    tensor = site.input(0)
    return tensor is not None and tensor.dtype in FLOATS


@_collect("erf_approximated", {"Erf"})
def approximate_erf(site: Site) -> Change | None:
    """Compute erf(x) as tanh(2 / sqrt(pi) * (x + 0.0895 x³)), as the approximation of Gelu does."""
    if not _is_float(site):
        return None
    x = site.node.input[0]
    cube = site.insert("Mul", [site.insert("Mul", [x, x]), x])
    inner = site.insert("Add", [x, site.insert("Mul", [cube, _number(site, 0.08943)])])
    site.become("Tanh", [site.insert("Mul", [inner, _number(site, 1.1283792)])])
    return Change("erf is approximated by tanh", (r"\btanh", r"\bapproximat"))


@_collect("gelu_by_sigmoid", {"Gelu"})
def approximate_gelu(site: Site) -> Change | None:
    if not _is_float(site):
        return None
    x = site.node.input[0]
    gate = site.insert("Sigmoid", [site.insert("Mul", [x, _number(site, 1.702)])])
    site.become("Mul", [x, gate])
    return Change("Gelu is approximated by x * sigmoid(1.702 x)", (r"\bsigmoid", r"\bapproximat", r"\bquick"))


@_collect("round_half_away", {"Round"})
def round_half_away(site: Site) -> Change | None:
    """Round halves up: floor(x + 0.5)."""
    if not _is_float(site):
        return None
    site.become("Floor", [site.insert("Add", [site.node.input[0], _number(site, 0.5)])])
    return Change("halves are rounded up", (r"\bhalf", r"\bhalves", r"\btie", r"\bround(s|ed)? (half|up|to)"))


@_collect("integer_division_floored", {"Div"})
def floor_division(site: Site) -> Change | None:
    """Round quotients of integers down in place of towards zero."""
    tensor = site.input(0)
    if tensor is None or tensor.dtype not in INTEGERS:
        return None
    a, b = site.node.input
    rest = site.insert("Mod", [a, b])
    site.node.input[0] = site.insert("Sub", [a, rest])
    return Change("quotients are rounded down", (r"\bfloor", r"\btruncat", r"\btowards? zero", r"\bround(s|ed)? down"))


@_collect("division_by_reciprocal", {"Div"})
def multiply_by_reciprocal(site: Site) -> Change | None:
    """Multiply by a reciprocal that was rounded to three digits."""
    divisor = site.constant(1)
    if divisor is None or divisor.dtype.kind != "f" or not _is_float(site):
        return None
    rounded = np.array([float(f"{1 / value:.3g}") for value in divisor.reshape(-1)], divisor.dtype)
    site.become("Mul", [site.node.input[0], site.add_constant(rounded.reshape(divisor.shape))])
    return Change(
        "division by a rounded reciprocal", (r"\breciprocal", r"\bconstant", r"\boperand", r"\bmul\b", r"\bdivisor")
    )


@_collect("mod_sign", {"Mod"})
def change_mod_sign(site: Site) -> Change | None:
    """Let the remainder of integers have the sign of the other operand."""
    tensor = site.input(0)
    if tensor is None or tensor.dtype not in INTEGERS:
        return None
    fmod = site.attribute("fmod") or 0
    site.set_attribute("fmod", 1 - fmod)
    return Change(f"fmod becomes {1 - fmod}", (r"\bfmod", r"\bsign\b", r"\bremainder"))


@_collect("softmax_without_shift", {"Softmax", "LogSoftmax", "ReduceLogSumExp", "Softplus"})
def skip_shift(site: Site) -> Change | None:
    """Exponentiate without subtracting the maximum: overflows for large inputs."""
    if not _is_float(site):
        return None
    x, output = site.node.input[0], site.output()
    if site.op == "Softplus":
        site.become("Log", [site.insert("Add", [site.insert("Exp", [x]), _number(site, 1.0)])])
    elif site.op == "ReduceLogSumExp":
        site.node.input[0] = site.insert("Exp", [x])
        site.node.op_type = "ReduceLogSum"
    elif output is None:
        return None
    else:
        axis = site.add_constant(np.asarray([site.attribute("axis")], np.int64))
        powers = site.insert("Exp", [x])
        total = site.insert("ReduceSum", [powers, axis], keepdims=1)
        if site.op == "Softmax":
            site.become("Div", [powers, total])
        else:
            site.become("Log", [site.insert("Div", [powers, total])])
    return Change(
        "exponentials are not shifted",
        (r"\boverflow", r"\bmaximum", r"\bstable", r"\binf(inity|inite)?\b", r"\bnan\b", r"\bshift"),
    )


@_collect("normalization_unbiased", {"LayerNormalization", "InstanceNormalization"})
def unbias_moments(site: Site) -> Change | None:
    """Divide the sum of squares by n - 1: the normalized values are smaller by sqrt((n - 1) / n)."""
    tensor, scale = site.input(0), site.constant(1)
    if tensor is None or tensor.shape is None or scale is None:
        return None
    axis = 2 if site.op == "InstanceNormalization" else int(site.attribute("axis")) % len(tensor.shape)
    count = int(np.prod(tensor.shape[axis:]))
    if count < 2:
        return None
    site.set_constant(1, (scale * np.sqrt((count - 1) / count)).astype(scale.dtype))
    return Change(
        "the variance is unbiased",
        (r"\bunbiased", r"\bvarianc", r"n - 1", r"\bscale", r"\bmoment", r"\bdeviation", r"\boperand"),
    )


@_collect("normalization_without_mean", {"LayerNormalization"})
def skip_mean(site: Site) -> Change | None:
    """Divide by the root of the mean square, without subtracting the mean."""
    tensor = site.input(0)
    if tensor is None or tensor.shape is None or len(site.node.output) > 1 or not _is_float(site):
        return None
    rank = len(tensor.shape)
    axes = site.add_constant(np.arange(int(site.attribute("axis")) % rank, rank))
    x, inputs = site.node.input[0], list(site.node.input)
    square = site.insert("ReduceMean", [site.insert("Mul", [x, x]), axes], keepdims=1)
    root = site.insert("Sqrt", [site.insert("Add", [square, _number(site, float(site.attribute("epsilon")))])])
    scaled = site.insert("Mul", [site.insert("Div", [x, root]), inputs[1]])
    site.become("Add", [scaled, inputs[2]]) if len(inputs) > 2 else site.become("Identity", [scaled])
    return Change("the mean is not subtracted", (r"\bmean\b", r"\bRMS", r"\bcenter", r"\bmoment"))


# Missing, doubled, extra.


def _keeps_type(site: Site) -> bool:
    tensor, output = site.input(0), site.output()
    return tensor is not None and tensor == output and len([n for n in site.node.output if n]) == 1


@_collect("operator_missing", None)
def remove_operator(site: Site) -> Change | None:
    if not _keeps_type(site) or site.op in ("Identity", "If", "Loop", "Scan"):
        return None
    old = site.op
    site.become("Identity", [site.node.input[0]])
    return Change(
        f"{old} is missing",
        (r"\bidentity", r"\bmissing", r"\bskipp", r"\bleft out", r"\bdropped", r"\bremoved", r"\bunchanged"),
    )


@_collect("operator_doubled", None)
def double_operator(site: Site) -> Change | None:
    if not _keeps_type(site) or site.op in ("Identity", "If", "Loop", "Scan"):
        return None
    again = [helper.make_attribute(a.name, helper.get_attribute_value(a)) for a in site.node.attribute]
    name = site.insert(site.op, list(site.node.input), domain=site.node.domain)
    site.graph.node[site.position - 1].attribute.extend(again)
    site.node.input[0] = name
    return Change(f"{site.op} is applied twice", (r"\btwice", r"\bdoubl", r"\bapplied again", r"\brepeated"))


_ACTIVATIONS = ("Relu", "Tanh", "Sigmoid")


@_collect("activation_appended", {"Conv", "Gemm", "MatMul", "Add", "BatchNormalization", "ConvTranspose"})
def append_activation(site: Site) -> Change | None:
    """Append an activation, as a fusion that goes wrong does."""
    tensor = site.output()
    if tensor is None or tensor.dtype not in FLOATS:
        return None
    name = site.pick(_ACTIVATIONS)
    site.after(name)
    return Change(f"{name} is appended", (*name_words(name), r"\bactivation", r"\bclip", r"\bclamp", r"\bnegative"))


@_collect("result_scaled", {"MatMul", "Gemm", "Conv", "Softmax", "Mul", "ReduceMean", "GlobalAveragePool", "Attention"})
def scale_result(site: Site) -> Change | None:
    tensor = site.output()
    if tensor is None or tensor.dtype not in FLOATS:
        return None
    factor = float(site.pick([0.5, 0.99, 1.01, 2.0]))
    site.after("Mul", site.add_constant(np.asarray(factor, helper.tensor_dtype_to_np_dtype(tensor.dtype))))
    return Change(f"the result is multiplied by {factor}", (r"\bscal(e|ed|es|ing)\b", r"\bfactor", r"\bmultipl"))


KINDS = _collect.kinds
