"""torch.nn.functional: activations, normalizations, dropouts, padding and what else acts element by element."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from tests.torch.operators.case import AnyCase, Cannot, Case, NoGraph
from tests.torch.operators.draws import choices, edges, indices, normal, of, positive, words

__all__ = ["CASES"]

_F = "torch.nn.functional."
_HALVES = (torch.float16, torch.bfloat16, torch.float64)
_PLAIN = words(
    "celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu relu6 rrelu selu "
    "sigmoid silu softplus softshrink softsign tanh tanhshrink"
)


def _in_place(name: str, *args: Any) -> Case:
    function = getattr(F, name)
    return Case(f"{_F}{name}", of("n", 4, draw=edges), call=lambda x: (function(y := x + 0, *args), y))


def _types(name: str, **options: Any) -> list[AnyCase]:
    return [Case(f"{_F}{name}", of("n", 4, draw=edges, dtype=d), options, label=str(d)[6:]) for d in _HALVES]


def _pad(mode: str, pad: tuple[int, ...], shape: tuple[Any, ...]) -> Case:
    return Case(f"{_F}pad", of(*shape), {"pad": pad, "mode": mode}, label=f"{mode} {len(pad) // 2}d")


CASES: list[AnyCase] = [
    *(Case(_F + name, of("n", 4, draw=edges)) for name in _PLAIN),
    *(_in_place(name) for name in words("celu_ elu_ leaky_relu_ relu_ rrelu_ selu_ hardtanh_")),
    _in_place("threshold_", 0.5, -1.0),
    *(case for name in ("gelu", "softplus", "silu", "sigmoid", "elu") for case in _types(name)),
    Case(_F + "gelu", of("n", 4, draw=edges), {"approximate": "tanh"}, label="tanh"),
    Case(_F + "elu", of("n", 4, draw=edges), {"alpha": 0.3}, label="alpha"),
    Case(_F + "celu", of("n", 4, draw=edges), {"alpha": 0.3}, label="alpha"),
    Case(_F + "softplus", of("n", 4, draw=edges), {"beta": 2.0, "threshold": 5.0}, label="beta"),
    Case(_F + "hardtanh", of("n", 4, draw=edges), {"min_val": -0.5, "max_val": 2.0}, label="bounds"),
    Case(_F + "hardshrink", of("n", 4, draw=edges), {"lambd": 1.0}, label="lambda"),
    Case(_F + "softshrink", of("n", 4, draw=edges), {"lambd": 1.0}, label="lambda"),
    Case(_F + "threshold", of("n", 4, draw=edges), {"threshold": 0.5, "value": -1.0}),
    Case(_F + "glu", of("n", 4, draw=edges)),
    Case(_F + "glu", of(4, "n"), {"dim": 0}, label="axis 0"),
    Case(_F + "prelu", lambda n: (edges(n, 4), normal(4))),
    Case(_F + "prelu", lambda n: (edges(n, 4), normal(1)), label="one slope"),
    Case(_F + "prelu", lambda n: (normal(n, 4, 3), normal(4)), label="channels"),
    Case(_F + "softmax", of("n", 4, draw=edges, without="nan inf"), {"dim": -1}),
    Case(_F + "softmax", of("n", 4, dtype=torch.float16), {"dim": 0, "dtype": torch.float32}, label="dtype"),
    Case(_F + "log_softmax", of("n", 4, draw=edges, without="nan inf"), {"dim": 1}),
    Case(_F + "softmin", of("n", 4, draw=edges, without="nan inf"), {"dim": 1}),
    Case(_F + "gumbel_softmax", of("n", 4), random=True),
    *(Case(_F + name, of("n", 4, 3, 3), {"training": False}) for name in ("dropout", "dropout2d")),
    Case(_F + "dropout1d", of("n", 4, 3), {"training": False}),
    Case(_F + "dropout3d", of("n", 4, 3, 3, 3), {"training": False}),
    Case(_F + "alpha_dropout", of("n", 4), {"training": False}),
    Case(_F + "feature_alpha_dropout", of("n", 4), {"training": False}),
    Case(_F + "normalize", of("n", 4)),
    Case(_F + "normalize", of("n", 4), {"p": 1.0, "dim": 0}, label="p 1"),
    Case(_F + "normalize", lambda n: (torch.zeros(n, 4),), label="zeros"),
    Case(
        _F + "layer_norm",
        lambda n: (normal(n, 3, 4), normal(4), normal(4, seed=1)),
        call=lambda x, w, b: F.layer_norm(x, (4,), w, b),
    ),
    Case(_F + "layer_norm", of("n", 3, 4), {"normalized_shape": (3, 4), "eps": 0.1}, label="two axes"),
    Case(_F + "layer_norm", of("n", 4, dtype=torch.float16), {"normalized_shape": (4,)}, label="float16"),
    Case(_F + "rms_norm", lambda n: (normal(n, 3, 4), normal(4)), call=lambda x, w: F.rms_norm(x, (4,), w)),
    Case(_F + "rms_norm", of("n", 4), {"normalized_shape": (4,), "eps": 1e-5}, label="eps"),
    Case(
        _F + "batch_norm",
        lambda n: (normal(n, 4, 5), normal(4), positive(4), normal(4, seed=1), normal(4, seed=2)),
    ),
    Case(_F + "batch_norm", lambda n: (normal(n, 4), normal(4), positive(4)), label="no weights"),
    Case(
        _F + "batch_norm",
        lambda n: (normal(n, 4, 5),),
        call=lambda x: F.batch_norm(x, None, None, training=True),
        label="of this batch",
    ),
    Case(_F + "instance_norm", of("n", 4, 5)),
    Case(
        _F + "instance_norm",
        lambda n: (normal(n, 4, 5), normal(4, seed=1), normal(4, seed=2)),
        call=lambda x, w, b: F.instance_norm(x, weight=w, bias=b),
        label="weights",
    ),
    Case(_F + "group_norm", of("n", 4, 5), {"num_groups": 2}),
    Case(
        _F + "group_norm",
        lambda n: (normal(n, 4, 5, 2), normal(4, seed=1), normal(4, seed=2)),
        call=lambda x, w, b: F.group_norm(x, 2, w, b),
        label="weights",
    ),
    Case(_F + "local_response_norm", of("n", 6, 4), {"size": 3}),
    Case(_F + "local_response_norm", of("n", 6, 4, 3), {"size": 2, "alpha": 0.5, "k": 2.0}, label="even"),
    Case(_F + "one_hot", lambda n: (indices(n, 3, below=5),), {"num_classes": 5}),
    Cannot(
        _F + "one_hot",
        lambda n: (indices(n, 3, below=5),),
        "the number of classes is read from the data in Python: pass num_classes",
        label="count from the data",
    ),
    Case(_F + "channel_shuffle", of("n", 6, 3, 3), {"groups": 2}),
    Cannot(
        _F + "native_channel_shuffle",
        of("n", 6, 3, 3),
        "no translation is written: channel_shuffle gives the same",
        options={"groups": 2},
        fixed="torch.export reads its sizes as numbers",
    ),
    Case(_F + "pixel_shuffle", of("n", 8, 3, 2), {"upscale_factor": 2}),
    Case(_F + "pixel_unshuffle", of("n", 2, 4, 6), {"downscale_factor": 2}),
    _pad("constant", (1, 2), ("n", 4)),
    _pad("constant", (1, -1, 0, 2), ("n", 4, 5)),
    *(_pad(mode, (1, 2), ("n", 3, 4)) for mode in ("reflect", "replicate", "circular")),
    *(_pad(mode, (1, 2, 2, 0), ("n", 3, 4, 5)) for mode in ("reflect", "replicate", "circular")),
    *(_pad(mode, (1, 2, 2, 0, 1, 1), ("n", 3, 4, 5, 4)) for mode in ("reflect", "replicate", "circular")),
    Case(_F + "pad", of("n", 4), {"pad": (1, 1), "value": -2.5}, label="value"),
    Case(_F + "pad", lambda n: (choices(n, 4),), {"pad": (1, 1), "value": True}, label="bool"),
    NoGraph(_F + "assert_int_or_pair", "a helper of PyTorch's own: it checks an argument"),
]
