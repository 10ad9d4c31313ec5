"""How networks are put together: control flow, state and views, nested arguments, shared weights, losses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.torch.operators.draws import choices, indices, normal, unit
from tests.torch.zoo.making import function, images, rows
from tests.torch.zoo.member import Member

__all__ = ["MEMBERS"]


class Linear(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 6)


class Cond(Linear):
    def forward(self, x: Tensor) -> Any:
        return torch.cond(x.sum() > 0, lambda x: self.layer(x).relu(), lambda x: x * 0.5 - 1, (x,))


class NestedCond(Linear):
    def forward(self, x: Tensor) -> Any:
        def inner(x: Tensor) -> Any:
            return torch.cond(x.max() > 1, lambda x: x * 2, lambda x: x - 2, (x,))

        return torch.cond(x.mean() > 0, inner, lambda x: x.tanh(), (x,))


class While(Linear):
    """Until the sum is above a bound: how often hangs on the data."""

    def forward(self, x: Tensor) -> Any:
        from torch._higher_order_ops.while_loop import while_loop

        count, y = while_loop(
            lambda count, y: (y.sum() < 20) & (count < 9),
            lambda count, y: (count + 1, y * 1.5 + 0.1),
            (torch.tensor(0), x.abs()),
        )
        return y, count


class PythonBranch(Linear):
    """Plain Python, which is made into control flow while it is captured."""

    def forward(self, x: Tensor) -> Any:
        if x.sum() > 0:  # noqa: SIM108
            y = self.layer(x)
        else:
            y = x - 1
        return y.sigmoid()


class ByLength(Linear):
    """A branch by a size that is fixed: no part of the converted model."""

    def forward(self, x: Tensor) -> Any:
        return self.layer(x) if x.shape[-1] == 6 else x


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return torch.sign(x) * 2

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0]


class StraightThrough(Linear):
    def forward(self, x: Tensor) -> Any:
        return self.layer(Double.apply(x))


class Checkpointed(Linear):
    def forward(self, x: Tensor) -> Any:
        return torch.utils.checkpoint.checkpoint(self.layer, x, use_reentrant=False)


class InPlace(Linear):
    def forward(self, x: Tensor) -> Any:
        y = self.layer(x)
        y += 1
        y[:, 1:3] *= 2
        y[:, 0].zero_()
        y.clamp_(-1, 1).add_(x)
        return y


class Views(Linear):
    """What is written through a view is seen by all that look at it."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = x.clone()
        flat = y.view(-1)
        flat[::2] = 0
        turned = y.t()
        turned[1] += 3
        return y, flat * 2


class Tied(nn.Module):
    """The table of words is also the way out."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.out = nn.Embedding(9, 6), nn.Linear(6, 9, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, words: Tensor) -> Any:
        return self.out(self.embed(words).cumsum(1))


class Buffers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.randn(6))
        self.register_buffer("steps", torch.arange(6), persistent=False)
        self.scale = torch.tensor(1.7)

    def forward(self, x: Tensor) -> Any:
        return (x - self.mean) * self.scale + self.steps


class Shared(nn.Module):
    """One layer called three times, and lists of layers."""

    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Linear(6, 6)
        self.many = nn.ModuleDict({"a": nn.Linear(6, 6), "b": nn.Linear(6, 6)})
        self.scales = nn.ParameterList([nn.Parameter(torch.rand(6)) for _ in range(3)])

    def forward(self, x: Tensor) -> Any:
        for scale in self.scales:
            x = self.one(x).tanh() * scale
        return sum(layer(x) for layer in self.many.values())


class NestedInputs(Linear):
    def forward(self, batch: dict[str, Any], pair: tuple[Tensor, list[Tensor]], scale: float = 2.0) -> Any:
        return self.layer(batch["x"]) * batch["options"]["gain"] + pair[0] - pair[1][0] * scale


class NestedOutputs(Linear):
    def forward(self, x: Tensor) -> Any:
        y = self.layer(x)
        return {"logits": y, "hidden": [x, (y.relu(), y.mean())], "nothing": None}


class Pair(NamedTuple):
    mean: Tensor
    spread: Tensor


class NamedOutputs(Linear):
    def forward(self, x: Tensor) -> Pair:
        y = self.layer(x)
        return Pair(y.mean(1), y.std(1))


@dataclass
class Found:
    logits: Tensor
    best: Tensor


torch.export.register_dataclass(Found)


class DataclassOutputs(Linear):
    def forward(self, x: Tensor) -> Found:
        y = self.layer(x)
        return Found(y, y.argmax(-1))


class Keywords(Linear):
    def forward(self, x: Tensor, *, gain: Tensor, bias: Tensor | None = None) -> Any:
        y = self.layer(x) * gain
        return y if bias is None else y + bias


class WithLoss(Linear):
    def forward(self, x: Tensor, labels: Tensor) -> Any:
        logits = self.layer(x)
        return {"loss": F.cross_entropy(logits, labels, label_smoothing=0.1), "logits": logits}


class Teacher(Linear):
    """Sizes are read off the input and used as numbers."""

    def forward(self, x: Tensor) -> Any:
        batch, length, width = x.shape
        places = torch.arange(length) / length
        wave = torch.sin(places[:, None] * torch.arange(1, width + 1))
        return self.layer(x + wave).reshape(batch * length, -1), x.new_full((batch,), length)


class Experts(nn.Module):
    """Each row goes to the two experts that its gate likes best."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(6, 3)
        self.experts = nn.ModuleList(nn.Linear(6, 4) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        weights, chosen = self.gate(x).softmax(-1).topk(2, -1)
        share = torch.zeros(x.shape[0], 3).scatter(1, chosen, weights / weights.sum(-1, keepdim=True))
        every = torch.stack([expert(x) for expert in self.experts], 1)
        return (every * share[..., None]).sum(1)


class Vmapped(Linear):
    def forward(self, x: Tensor) -> Any:
        return torch.vmap(lambda row: row.softmax(0) * self.layer.weight.sum(1))(x)


class Autoencoder(nn.Module):
    """Variational, with the chance handed in."""

    def __init__(self) -> None:
        super().__init__()
        self.encode, self.decode = nn.Linear(6, 8), nn.Linear(4, 6)

    def forward(self, x: Tensor, noise: Tensor) -> dict[str, Tensor]:
        mean, log_var = self.encode(x).chunk(2, -1)
        again = self.decode(mean + noise * torch.exp(0.5 * log_var)).sigmoid()
        divergence = -0.5 * (1 + log_var - mean**2 - log_var.exp()).sum(1).mean()
        return {"again": again, "loss": F.mse_loss(again, x) + divergence}


class Siamese(Linear):
    def forward(self, anchor: Tensor, same: Tensor, other: Tensor) -> Any:
        return F.triplet_margin_loss(self.layer(anchor), self.layer(same), self.layer(other), margin=0.5)


def _losses(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    p, q = x.sigmoid(), y.sigmoid()
    return (
        F.mse_loss(x, y),
        F.l1_loss(x, y, reduction="sum"),
        F.smooth_l1_loss(x, y, beta=0.5, reduction="none"),
        F.huber_loss(x, y),
        F.binary_cross_entropy(p, q),
        F.binary_cross_entropy_with_logits(x, q, pos_weight=torch.tensor(2.0)),
        F.kl_div(x.log_softmax(-1), y.softmax(-1), reduction="batchmean"),
        F.cosine_embedding_loss(x, y, torch.ones(1)),
    )


def _ignoring(x: Tensor, labels: Tensor) -> Tensor:
    return F.cross_entropy(x, labels, weight=torch.arange(1.0, 7.0), ignore_index=0)


def _labelled(n: int) -> tuple[Any, ...]:
    return normal(n, 6), indices(n, below=6, seed=1)


def _two(n: int) -> tuple[Any, ...]:
    return normal(n, 6), normal(n, 6, seed=1)


def _nested(n: int) -> tuple[Any, ...]:
    return (
        {"x": normal(n, 6), "options": {"gain": normal(6, seed=1)}},
        (normal(n, 6, seed=2), [normal(6, seed=3)]),
    )


def _joined(x: Tensor) -> Any:
    a, b, c = x.split([1, 2, 3], 1)
    return torch.cat([c, a], 1), torch.stack(b.unbind(1), 1), torch.hstack([a, b]), x.unflatten(1, (2, 3)).movedim(1, 2)


def _expanded(x: Tensor) -> Any:
    return x[:, None].expand(-1, 3, -1) + x.unsqueeze(1), x.view(x.shape[0], 2, 3).permute(2, 0, 1).contiguous()


def _both_signs(n: int) -> Any:
    """The sizes of the two calls are on different sides of a branch."""
    return normal(n, 6).abs() * (1 if n == 2 else -1)


MEMBERS: list[Member] = [
    Member("cond", Cond, _both_signs, quick=True),
    Member("cond within cond", NestedCond, _both_signs),
    Member("while_loop", While, rows),
    Member("if of Python on data", PythonBranch, _both_signs),
    Member("if of Python on a fixed size", ByLength, rows),
    Member("own autograd function", StraightThrough, rows),
    Member("checkpointed", Checkpointed, rows),
    Member("in place", InPlace, rows, quick=True),
    Member("written through views", Views, rows),
    Member("tied weights", Tied, lambda n: indices(n, n + 2, below=9)),
    Member("buffers", Buffers, rows),
    Member("shared layers", Shared, rows),
    Member("nested inputs", NestedInputs, _nested),
    Member("nested outputs", NestedOutputs, rows),
    Member("named outputs", NamedOutputs, rows),
    Member("outputs as a dataclass", DataclassOutputs, rows),
    Member("keywords, one left out", Keywords, lambda n: {"x": normal(n, 6), "gain": normal(6, seed=1)}),
    Member("loss among the outputs", WithLoss, _labelled),
    Member("sizes as numbers", Teacher, lambda n: normal(n, n + 3, 6)),
    Member("mixture of experts", Experts, rows),
    Member("vmap", Vmapped, rows),
    Member("variational autoencoder", Autoencoder, lambda n: (unit(n, 6), normal(n, 4, seed=1))),
    Member("triplet loss", Siamese, lambda n: tuple(normal(n, 6, seed=seed) for seed in range(3))),
    function("losses", _losses, _two),
    function("cross entropy, some ignored", _ignoring, _labelled),
    function(
        "negative log-likelihood of images",
        lambda x, labels: F.nll_loss(x.log_softmax(1), labels),
        lambda n: (images(n), indices(n, 8, 9, below=4)),
    ),
    function("split and joined", _joined),
    function("expanded and turned", _expanded),
    function(
        "meshgrid and products of sets",
        lambda x: (*torch.meshgrid(x[:, 0], x[0], indexing="ij"), torch.cartesian_prod(x[0], x[0, :2])),
    ),
    function("no tensor in the result changes", lambda x: (x, torch.full((2,), 3.0), x.shape[1] * torch.ones(1))),
    function(
        "where of three",
        lambda x, mask: (torch.where(mask, x, -x), torch.where(x > 0, 1.0, x), torch.clamp(x, min=x.mean())),
        lambda n: (normal(n, 6), choices(n, 6)),
    ),
]
