"""The operators of the core ATen set, called as operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tests.torch.operators.case import AnyCase, Cannot, Case, NoGraph
from tests.torch.operators.draws import choices, edges, indices, normal, of, positive, wholes, words

__all__ = ["CASES"]

aten = torch.ops.aten


def _one(names: str, draw: Callable[..., Any] = edges, **options: Any) -> list[AnyCase]:
    return [Case(f"aten.{name}", of("n", 4, draw=draw, **options)) for name in names.split()]


def _two(names: str) -> list[AnyCase]:
    """Floats with their edges; whole numbers; a whole and a float one."""
    pairs: dict[str, Callable[[int], Any]] = {
        "": lambda n: (edges(n, 4), edges(n, 4, seed=3)),
        "wholes": lambda n: (wholes(n, 4), wholes(n, 4, low=1, seed=1) * torch.where(choices(n, 4), 1, -1)),
        "promoted": lambda n: (wholes(n, 4, dtype=torch.int32), edges(n, 4, seed=3)),
    }
    return [Case(f"aten.{name}", inputs, label=label) for name in names.split() for label, inputs in pairs.items()]


def _scalar(names: str, number: Any = 2.5) -> list[AnyCase]:
    """A number beside floats, and beside whole numbers, which it makes floats."""
    return [
        case
        for name in names.split()
        for case in (
            _called(name, of("n", 4, draw=edges), number, label=f"{number}"),
            _called(name, of("n", 4, draw=wholes), number, label=f"wholes, {number}"),
        )
    ]


def _called(name: str, inputs: Any, *args: Any, label: str = "", **options: Any) -> Case:
    """Tensors first, then what is no tensor."""
    packet, overload = name.split(".")
    found = getattr(getattr(aten, packet), overload)
    return Case(f"aten.{name}", inputs, call=lambda *tensors: found(*tensors, *args, **options), label=label)


def _bits(names: str) -> list[AnyCase]:
    return [
        case
        for name in names.split()
        for case in (
            Case(f"aten.{name}.Tensor", lambda n: (wholes(n, 4), wholes(n, 4, seed=1))),
            Case(f"aten.{name}.Tensor", lambda n: (choices(n, 4), choices(n, 4, seed=1)), label="booleans"),
            _called(f"{name}.Scalar", of("n", 4, draw=wholes), 5),
        )
    ]


def _backward(*names: str) -> list[AnyCase]:
    return [NoGraph(f"aten.{name}.default", "a step of training: it computes a gradient") for name in names]


_PADS = {1: (2, 1), 2: (2, 1, 1, 0), 3: (2, 1, 1, 0, 1, 1)}
_VOLUME = {1: (5,), 2: (4, 5), 3: (3, 4, 5)}

CASES: list[AnyCase] = [
    *_one(
        "abs.default acos.default acosh.default asin.default asinh.default atan.default atanh.default ceil.default "
        "cos.default cosh.default elu.default erf.default exp.default expm1.default floor.default gelu.default "
        "isinf.default isnan.default log.default log10.default log1p.default log2.default neg.default "
        "reciprocal.default relu.default round.default rsqrt.default sigmoid.default sign.default sin.default "
        "sinh.default sqrt.default tan.default tanh.default trunc.default hardtanh.default leaky_relu.default "
        "logical_not.default alias.default clone.default"
    ),
    *(
        Case(f"aten.{name}.default", of("n", 4, draw=wholes), label="wholes")
        for name in words("abs neg sign relu ceil round floor sqrt exp logical_not reciprocal")
    ),
    *(
        Case(f"aten.{name}.default", of("n", 4, draw=edges, dtype=dtype), label=str(dtype)[6:])
        for name in words("exp log sqrt rsqrt tanh sin expm1 log1p round")
        for dtype in (torch.float16, torch.bfloat16, torch.float64)
    ),
    *_one("bitwise_not.default", draw=wholes),
    Case("aten.bitwise_not.default", of("n", 4, draw=choices), label="booleans"),
    *_two("add.Tensor sub.Tensor mul.Tensor div.Tensor fmod.Tensor remainder.Tensor maximum.default minimum.default"),
    *_two("eq.Tensor ne.Tensor lt.Tensor le.Tensor gt.Tensor ge.Tensor"),
    *_two("logical_and.default logical_or.default logical_xor.default"),
    Case("aten.atan2.default", lambda n: (edges(n, 4), edges(n, 4, seed=3))),
    NoGraph("aten.atan2.out", "writes into a tensor that it is given: exporting makes it atan2"),
    *(
        _called(f"div.{kind}", inputs, *args, rounding_mode=mode, label=f"{mode} {what}")
        for mode in ("floor", "trunc", None)
        for kind, args, cases in (
            (
                "Tensor_mode",
                (),
                {
                    "floats": lambda n: (edges(n, 4), edges(n, 4, seed=3)),
                    "wholes": lambda n: (wholes(n, 4), wholes(n, 4, low=1, seed=1) * torch.where(choices(n, 4), 1, -1)),
                    "int32": lambda n: (
                        wholes(n, 4, dtype=torch.int32),
                        wholes(n, 4, low=1, seed=1, dtype=torch.int32),
                    ),
                },
            ),
            ("Scalar_mode", (-2.5,), {"floats": of("n", 4, draw=edges), "wholes": of("n", 4, draw=wholes)}),
        )
        for what, inputs in cases.items()
    ),
    *_scalar("add.Scalar sub.Scalar mul.Scalar div.Scalar fmod.Scalar remainder.Scalar"),
    *_scalar("remainder.Scalar fmod.Scalar", -3),
    *_scalar("eq.Scalar ne.Scalar lt.Scalar le.Scalar gt.Scalar ge.Scalar", 1),
    *_scalar("pow.Tensor_Scalar", 2.0),
    *(_called("pow.Tensor_Scalar", of("n", 4, draw=edges), p, label=f"to the {p}") for p in (0.5, -1, 3, 0, 2.5, -0.5)),
    _called("pow.Tensor_Scalar", of("n", 4, draw=wholes), 3, label="wholes to the 3"),
    Case("aten.pow.Scalar", of("n", 4, draw=edges), call=lambda x: aten.pow.Scalar(2.0, x)),
    Case("aten.pow.Scalar", of("n", 4, draw=wholes), call=lambda x: aten.pow.Scalar(-2, x.abs()), label="wholes"),
    Case("aten.pow.Tensor_Tensor", lambda n: (edges(n, 4), edges(n, 4, seed=3))),
    Case("aten.pow.Tensor_Tensor", lambda n: (wholes(n, 4), wholes(n, 4, low=0, high=5)), label="wholes"),
    *_bits("bitwise_and bitwise_or bitwise_xor"),
    Case("aten.add.Tensor", lambda n: (normal(n, 4), normal(n, 4)), {"alpha": 0.3}, label="alpha"),
    Case("aten.sub.Tensor", lambda n: (wholes(n, 4), wholes(n, 4)), {"alpha": 3}, label="alpha"),
    Case(
        "aten.add.Tensor",
        lambda n: (choices(n, 4), choices(n, 4, seed=1)),
        label="booleans",
        cannot={"tensorflow": "TensorFlow adds no booleans: use torch.logical_or"},
    ),
    Case("aten.mul.Tensor", lambda n: (choices(n, 4), choices(n, 4, seed=1)), label="booleans"),
    Case(
        "aten.add.Tensor",
        lambda n: (
            wholes(n, 4, dtype=torch.uint8, low=0, high=255),
            wholes(n, 4, dtype=torch.uint8, low=0, high=255, seed=1),
        ),
        label="uint8 around",
    ),
    Case(
        "aten.mul.Tensor",
        lambda n: (wholes(n, 4, dtype=torch.int8, low=-128, high=127), wholes(n, 4, dtype=torch.int8, seed=1)),
        label="int8 around",
    ),
    Case(
        "aten.add.Tensor",
        lambda n: (normal(n, 4, dtype=torch.float16), normal(n, 4, seed=1)),
        label="float16 and float32",
    ),
    Case(
        "aten.add.Tensor",
        lambda n: (wholes(n, 4, dtype=torch.int8), wholes(n, 4, dtype=torch.uint8, low=0)),
        label="int8 and uint8",
    ),
    *(Case(f"aten.{name}.default", of("n", 4, draw=edges), label="all") for name in ("any", "mean", "prod")),
    Case("aten.any.default", of("n", 4, draw=choices), label="booleans"),
    _called("any.dim", of("n", 4, draw=edges), 1),
    _called("any.dims", of("n", 4, 3, draw=edges), [0, 2], True),
    _called("amax.default", of("n", 4, draw=edges, without="nan"), [1]),
    _called("amax.default", of("n", 4, draw=edges, without="nan"), [1], True, label="kept"),
    _called("amin.default", of("n", 4, draw=edges, without="nan"), [0]),
    _called("amax.default", of("n", 4, draw=wholes), [0], label="wholes"),
    _called("argmax.default", of("n", 4, draw=edges, without="nan"), 1),
    _called("argmax.default", of("n", 4, draw=lambda *s: wholes(*s, low=0, high=2).float()), 1, True, label="ties"),
    _called("argmin.default", of("n", 4, draw=lambda *s: wholes(*s, low=0, high=2)), 0, label="ties"),
    _called("argmin.default", of("n", 4, draw=edges, without="nan"), label="all"),
    _called("max.dim", of("n", 4, draw=edges, without="nan"), 1),
    _called("max.dim", of("n", 4, draw=lambda *s: wholes(*s, low=0, high=2)), 1, label="ties"),
    _called("min.dim", of("n", 4), 0, True),
    _called("mean.dim", of("n", 4), [1], True),
    _called("mean.dim", of("n", 4, dtype=torch.float16), [0, 1], dtype=torch.float32, label="dtype"),
    _called("sum.dim_IntList", of("n", 4), [1]),
    _called("sum.dim_IntList", of("n", 4, draw=choices), [0, 1], label="booleans"),
    _called("sum.dim_IntList", of("n", 4, draw=wholes, dtype=torch.int32), [1], label="int32"),
    _called("prod.dim_int", of("n", 4), 1, True),
    _called("prod.dim_int", of("n", 4, draw=wholes), 0, label="wholes"),
    _called("var.correction", of("n", 4), [1], correction=0),
    _called("var.correction", of("n", 4), [0, 1], correction=1.5, keepdim=True, label="all"),
    _called("var.dim", of("n", 4), [1]),
    _called("var.dim", of("n", 4), [0], False, True, label="biased"),
    _called("cumsum.default", of("n", 4), 1),
    _called("cumsum.default", of("n", 4, draw=wholes, dtype=torch.int32), 0, label="int32"),
    _called("sort.default", of("n", 4, draw=edges, without="nan"), 1),
    _called("sort.default", of("n", 4, draw=wholes), 1, True, label="wholes, falling"),
    _called("topk.default", of("n", 4), 2),
    _called("topk.default", of("n", 4), 2, 1, False, label="least"),
    _called("clamp.default", of("n", 4, draw=edges), -0.5, 1.5),
    _called("clamp.default", of("n", 4, draw=edges), None, 1.5, label="above"),
    _called("clamp.default", of("n", 4, draw=wholes), 2, -2, label="wholes, bounds swapped"),
    _called("clamp.default", of("n", 4, draw=wholes), -1.5, 2.5, label="wholes between floats"),
    Case("aten.clamp.Tensor", lambda n: (edges(n, 4), normal(4), normal(4, seed=1))),
    _called("hardtanh.default", of("n", 4, draw=edges), 0.0, 6.0, label="bounds"),
    Case("aten.where.self", lambda n: (choices(n, 4), edges(n, 4), normal(4))),
    Case("aten.where.self", lambda n: (choices(n, 4), wholes(n, 4), edges(n, 4)), label="promoted"),
    Case("aten.addmm.default", lambda n: (normal(5), normal(n, 4), normal(4, 5))),
    Case(
        "aten.addmm.default",
        lambda n: (normal(5), normal(n, 4), normal(4, 5)),
        {"beta": 0.5, "alpha": 2.0},
        label="factors",
    ),
    Case("aten.mm.default", lambda n: (normal(n, 4), normal(4, 5))),
    Case("aten.mm.default", lambda n: (wholes(n, 4), wholes(4, 5)), label="wholes"),
    Case("aten.bmm.default", lambda n: (normal(n, 3, 4), normal(n, 4, 5))),
    Case(
        "aten._cdist_forward.default",
        lambda n: (normal(n, 4), normal(6, 4)),
        call=lambda a, b: aten._cdist_forward(a, b, 2.0, None),
    ),
    Case(
        "aten._cdist_forward.default",
        lambda n: (normal(2, n, 4), normal(2, 6, 4)),
        call=lambda a, b: aten._cdist_forward(a, b, 1.0, None),
        label="1",
    ),
    Case("aten._pdist_forward.default", of("n", 4)),
    Case(
        "aten.convolution.default",
        lambda n: (normal(n, 4, 7, 8), normal(6, 4, 3, 3), normal(6)),
        call=lambda x, w, b: aten.convolution(x, w, b, [2, 1], [1, 0], [1, 2], False, [0, 0], 1),
    ),
    Case(
        "aten.convolution.default",
        lambda n: (normal(n, 4, 7), normal(4, 3, 3)),
        call=lambda x, w: aten.convolution(x, w, None, [2], [1], [1], True, [1], 2),
        label="transposed",
    ),
    _called("_adaptive_avg_pool2d.default", of("n", 3, 6, 6), [3, 2]),
    _called("_adaptive_avg_pool3d.default", of("n", 3, 4, 6, 6), [2, 3, 2]),
    _called("adaptive_avg_pool1d.default", of("n", 3, 6), [3]),
    _called("avg_pool1d.default", of("n", 3, 6), [3], [2], [1]),
    _called("avg_pool2d.default", of("n", 3, 6, 7), [3, 2], [2, 2], [1, 1], True, False),
    _called("avg_pool3d.default", of("n", 3, 6, 7, 6), [3, 2, 2], [2, 2, 2]),
    _called("max_pool2d_with_indices.default", of("n", 3, 6, 7), [3, 2], [2, 2], [1, 1]),
    _called("max_pool3d_with_indices.default", of("n", 3, 6, 7, 6), [3, 2, 2], [2, 2, 2]),
    Case(
        "aten.grid_sampler_2d.default",
        lambda n: (normal(n, 3, 6, 7), 1.4 * normal(n, 5, 4, 2)),
        call=lambda x, g: aten.grid_sampler_2d(x, g, 0, 0, False),
    ),
    _called("upsample_bilinear2d.vec", of("n", 3, 4, 5), None, False, [1.5, 2.0]),
    _called("upsample_nearest2d.vec", of("n", 3, 4, 5), [7, 8], None),
    *(_called(f"reflection_pad{rank}d.default", of("n", 2, *_VOLUME[rank]), list(_PADS[rank])) for rank in (1, 2, 3)),
    *(_called(f"replication_pad{rank}d.default", of("n", 2, *_VOLUME[rank]), list(_PADS[rank])) for rank in (2, 3)),
    _called("constant_pad_nd.default", of("n", 4), [1, -1], 2.5),
    _called("col2im.default", of("n", 12, 20), [5, 6], [2, 2], [1, 1], [0, 0], [1, 1]),
    Case(
        "aten.native_layer_norm.default",
        lambda n: (normal(n, 3, 4), normal(4), normal(4)),
        call=lambda x, w, b: aten.native_layer_norm(x, [4], w, b, 1e-5),
    ),
    Case(
        "aten.native_group_norm.default",
        lambda n: (normal(n, 4, 6), normal(4), normal(4)),
        call=lambda x, w, b: aten.native_group_norm(x, w, b, x.shape[0], 4, 6, 2, 1e-5),
    ),
    Case(
        "aten._native_batch_norm_legit_no_training.default",
        lambda n: (normal(n, 4, 5), normal(4), normal(4), normal(4), positive(4)),
        call=lambda *t: aten._native_batch_norm_legit_no_training(*t, 0.1, 1e-5)[0],
    ),
    Case(
        "aten._native_batch_norm_legit.no_stats",
        lambda n: (normal(n, 4, 5), normal(4), normal(4)),
        call=lambda x, w, b: aten._native_batch_norm_legit.no_stats(x, w, b, True, 0.1, 1e-5)[0],
    ),
    Case(
        "aten._native_batch_norm_legit.default",
        lambda n: (normal(n, 4, 5), normal(4), normal(4), normal(4), positive(4)),
        call=lambda x, w, b, m, v: aten._native_batch_norm_legit(x, w, b, m, v, False, 0.1, 1e-5)[0],
    ),
    _called("native_dropout.default", of("n", 4), 0.5, False),
    _called("_softmax.default", of("n", 4), 1, False),
    _called("_log_softmax.default", of("n", 4), 0, False),
    Case("aten.embedding.default", lambda n: (normal(6, 4), indices(n, 3, below=6))),
    Case(
        "aten._embedding_bag.default",
        lambda n: (normal(6, 4), indices(10, below=6), torch.arange(n) * 2),
        call=lambda *t: aten._embedding_bag(*t)[0],
    ),
    _called("_to_copy.default", of("n", 4, draw=edges, without="nan inf"), dtype=torch.int32),
    _called("_to_copy.default", of("n", 4, draw=edges), dtype=torch.bool, label="to bool"),
    _called("_to_copy.default", of("n", 4, draw=edges), dtype=torch.bfloat16, label="to bfloat16"),
    _called("_to_copy.default", of("n", 4, draw=wholes, low=-300, high=300), dtype=torch.int8, label="around int8"),
    Case("aten.sigmoid.default", of("n", 4, draw=wholes, low=-(10**9), high=10**9), label="large wholes"),
    Case("aten.copy.default", lambda n: (wholes(n, 4), edges(n, 4, without="nan inf"))),
    Case("aten.arange.start_step", of("n", 4), call=lambda x: aten.arange.start_step(1, 2 * x.shape[0] + 1, 2)),
    Case(
        "aten.arange.start_step", of("n", 4), call=lambda x: x * aten.arange.start_step(0.5, 2.5, 0.5), label="floats"
    ),
    Case(
        "aten.as_strided.default",
        lambda n: (normal(n, 4),),
        call=lambda x: aten.as_strided(x.contiguous(), [3, 2], [4, 2], 1),
    ),
    Cannot(
        "aten.as_strided.default",
        lambda n: (normal(n, 4),),
        "the result depends on the strides of an input, which a converted model does not see",
        call=lambda x: aten.as_strided(x, [3, 2], [4, 2], 1),
        label="of an input",
    ),
    Case("aten.cat.default", lambda n: (normal(n, 4), wholes(n, 3)), call=lambda a, b: aten.cat([a, b], 1)),
    _called("diagonal.default", of("n", 4, 5), 1, 1, 2),
    *(
        Case(f"aten.{name}", of("n", 4), call=call)
        for name, call in {
            "empty.memory_format": lambda x: aten.empty([x.shape[0], 2]).zero_() + x[:, :2],
            "empty_strided.default": lambda x: aten.empty_strided([x.shape[0], 2], [2, 1]).fill_(1) + x[:, :2],
            "full.default": lambda x: aten.full([x.shape[0], 4], 2.5) + x,
            "full_like.default": lambda x: aten.full_like(x, -1.5),
            "fill.Scalar": lambda x: aten.fill.Scalar(x, 2.5),
            "scalar_tensor.default": lambda x: aten.scalar_tensor(2.5) * x,
            "expand.default": lambda x: aten.expand(x.unsqueeze(1), [-1, 3, 4]),
            "flip.default": lambda x: aten.flip(x, [0, 1]),
            "permute.default": lambda x: aten.permute(x, [1, 0]),
            "repeat.default": lambda x: aten.repeat(x, [2, 1, 3]),
            "select.int": lambda x: aten.select(x, 1, -1),
            "slice.Tensor": lambda x: aten.slice(x, 1, -3, 100, 2),
            "split_with_sizes.default": lambda x: aten.split_with_sizes(x, [1, 3], 1),
            "squeeze.dim": lambda x: aten.squeeze(x.unsqueeze(1), 1),
            "squeeze.dims": lambda x: aten.squeeze(x[:, None, :, None], [1, 3]),
            "unsqueeze.default": lambda x: aten.unsqueeze(x, -1),
            "view.default": lambda x: aten.view(x, [-1, 2, 2]),
            "sym_size.int": lambda x: x * aten.sym_size(x, 0),
            "sym_numel.default": lambda x: x + aten.sym_numel(x),
            "sym_stride.int": lambda x: x * aten.sym_stride(x, 0),
            "sym_storage_offset.default": lambda x: x + aten.sym_storage_offset(x),
        }.items()
    ),
    NoGraph("aten.sym_is_contiguous.default", "asks how memory lies: it leaves no node"),
    NoGraph("aten.resize_.default", "changes a tensor's storage: torch.export refuses it"),
    Case(
        "aten.gather.default", lambda n: (normal(n, 4), indices(n, 2, below=4)), call=lambda x, i: aten.gather(x, 1, i)
    ),
    Case(
        "aten.index.Tensor",
        lambda n: (normal(n, 4, 5), indices(6, below=3), indices(6, below=4)),
        call=lambda x, i, j: aten.index(x, [i, j]),
    ),
    Case(
        "aten.index.Tensor",
        lambda n: (normal(n, 4, 5), indices(6, below=5) - 5),
        call=lambda x, i: aten.index(x, [None, None, i]),
        label="negative",
    ),
    Case(
        "aten.index.Tensor",
        lambda n: (normal(n, 4, 5), indices(6, below=3), indices(6, below=5)),
        call=lambda x, i, j: aten.index(x, [i, None, j]),
        label="apart",
    ),
    Case("aten.index.Tensor", lambda n: (normal(n, 4), choices(n, 4)), call=lambda x, m: x[m], label="mask"),
    Case(
        "aten.index_put.default",
        lambda n: (normal(n, 4), indices(6, below=3), indices(6, below=4), normal(6)),
        call=lambda x, i, j, v: aten.index_put(x, [i, j], v, True),
        label="add",
    ),
    Case(
        "aten.index_put.default",
        lambda n: (normal(n, 4), torch.tensor([2, 0]), normal(4)),
        call=lambda x, i, v: aten.index_put(x, [i], v),
    ),
    Case(
        "aten.index_put.default",
        lambda n: (normal(n, 4), choices(n, 4), normal(1)[0]),
        call=lambda x, m, v: aten.index_put(x, [m], v),
        label="mask",
    ),
    Case(
        "aten.index_select.default",
        lambda n: (normal(n, 4), indices(6, below=4)),
        call=lambda x, i: aten.index_select(x, 1, i),
    ),
    Case("aten.masked_scatter.default", lambda n: (normal(n, 4), choices(n, 4), normal(n, 4, seed=1))),
    Case("aten.nonzero.default", of("n", 4, draw=choices)),
    Case(
        "aten.scatter.src",
        lambda n: (normal(n, 4), torch.tensor([[1, 0, 2], [3, 2, 1]]), normal(2, 3)),
        call=lambda x, i, s: aten.scatter(x, 1, i, s),
    ),
    Case(
        "aten.scatter.value",
        lambda n: (normal(n, 4), indices(n, 2, below=4)),
        call=lambda x, i: aten.scatter(x, 1, i, 2.5),
    ),
    Case(
        "aten.scatter_add.default",
        lambda n: (normal(n, 4), indices(n, 6, below=4), normal(n, 6)),
        call=lambda x, i, s: aten.scatter_add(x, 1, i, s),
    ),
    *(
        Case(
            "aten.scatter_reduce.two",
            lambda n: (normal(n, 4), indices(n, 6, below=4), normal(n, 6)),
            call=lambda x, i, s, how=how, own=own: aten.scatter_reduce(x, 1, i, s, how, include_self=own),
            label=f"{how} {own}",
        )
        for how in ("sum", "prod", "mean", "amax", "amin")
        for own in (True, False)
    ),
    Case(
        "aten.select_scatter.default",
        lambda n: (normal(n, 4), normal(n)),
        call=lambda x, s: aten.select_scatter(x, s, 1, 2),
    ),
    Case(
        "aten.slice_scatter.default",
        lambda n: (normal(n, 6), normal(n, 2)),
        call=lambda x, s: aten.slice_scatter(x, s, 1, 1, 5, 2),
    ),
    *(
        Case(f"aten.{name}", of("n", 4), call=call, random=True)
        for name, call in {
            "rand.default": lambda x: aten.rand([x.shape[0], 4]) + x * 0,
            "randn.default": lambda x: aten.randn([x.shape[0], 4]) + x * 0,
        }.items()
    ),
    Cannot(
        "aten.randperm.default",
        of("n", 4),
        "ONNX draws no permutation",
        call=lambda x: aten.randperm(x.shape[0]),
    ),
    Case("aten._local_scalar_dense.default", lambda n: (normal(n, 4), torch.tensor(n)), call=lambda x, k: x * k.item()),
    *_backward(
        "_adaptive_avg_pool2d_backward",
        "avg_pool2d_backward",
        "convolution_backward",
        "embedding_dense_backward",
        "max_pool2d_with_indices_backward",
        "native_group_norm_backward",
        "native_layer_norm_backward",
    ),
]
