"""A converted module can be trained on: its gradients are PyTorch's, and so are the losses of the next steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import torch
from torch import nn

import trueport

K = 8.0
"""How many times PyTorch's own distance from float64 counts as the same, as in verification."""
LEAST = 2.0**-20
"""What a float32 gradient may be off beside that, relative to the largest element: it is a sum of many terms."""


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.attention(x, x, x, need_weights=False)[0]


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 3, 3, padding=1), nn.Conv2d(3, 3, 3, padding=1)
        self.norm = nn.BatchNorm2d(3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x + self.second(self.norm(self.first(x)).relu())).mean((2, 3))


class Recurrent(nn.Module):
    def __init__(self, kind: type[nn.Module]) -> None:
        super().__init__()
        self.layer = kind(5, 4, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)[0][:, -1]


class Embedded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.out = nn.Embedding(7, 6), nn.Linear(6, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.table((x.abs() * 2).long().clamp(max=6)).mean(1) * x.mean(1, keepdim=True))


MODULES: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "linear": (lambda: nn.Linear(6, 3), (4, 6)),
    "mlp": (lambda: nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 3)), (4, 6)),
    "layer_norm": (lambda: nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.Tanh()), (4, 6)),
    "conv": (lambda: nn.Sequential(nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten()), (2, 3, 8, 8)),
    "depthwise": (lambda: nn.Sequential(nn.Conv2d(4, 8, 3, groups=4), nn.SiLU(), nn.AvgPool2d(2)), (2, 4, 8, 8)),
    "transposed": (lambda: nn.ConvTranspose2d(3, 2, 3, stride=2, output_padding=1, padding=1), (2, 3, 5, 5)),
    "pooled": (lambda: nn.Sequential(nn.Conv1d(3, 4, 3), nn.MaxPool1d(2), nn.Softplus()), (2, 3, 9)),
    "group_norm": (lambda: nn.Sequential(nn.Conv2d(3, 4, 1), nn.GroupNorm(2, 4), nn.ELU()), (2, 3, 5, 5)),
    "residual": (Residual, (2, 3, 6, 6)),
    "attention": (Attention, (2, 5, 8)),
    "gru": (lambda: Recurrent(nn.GRU), (2, 6, 5)),
    "lstm": (lambda: Recurrent(nn.LSTM), (2, 6, 5)),
    "embedding": (Embedded, (3, 4)),
}


def torch_gradients(module: nn.Module, x: torch.Tensor) -> dict[str, np.ndarray]:
    module.zero_grad()
    x = x.clone().requires_grad_()
    module(x).square().sum().backward()
    assert x.grad is not None
    found = {name: weight.grad for name, weight in module.named_parameters() if weight.grad is not None}
    return {name: grad.numpy().astype(np.float64) for name, grad in {"x": x.grad, **found}.items()}


def trained(result: Any) -> dict[str, tuple[tf.Variable, tuple[int, ...] | None]]:
    """The module's trainable variables by the names of PyTorch's parameters, and how they are turned."""
    built = result.built.traced
    variables = {variable.name.split(":")[0]: variable for variable in result.model.trainable_variables}
    return {
        stored.initializer: (variables[stored.key], stored.perm)
        for stored in built.map.weights
        if stored.key in variables
    }


def loss_of(result: Any, x: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(tf.square(next(iter(result.model(x).values()))))


@pytest.mark.parametrize("name", MODULES)
def test_gradients_equal(name: str) -> None:
    make, shape = MODULES[name]
    torch.manual_seed(0)
    module = make().eval()
    x = torch.randn(shape)
    truth = torch_gradients(module.double(), x.double())
    source = torch_gradients(module.float(), x)
    result = trueport.convert(module, to="tensorflow", example_inputs=(x,), verify=False)
    weights = trained(result)
    assert {key for key in truth if key != "x"} <= set(weights), "every parameter stays a variable under its name"
    given = tf.constant(x.numpy())
    with tf.GradientTape() as tape:
        tape.watch(given)
        loss = loss_of(result, given)
    found = tape.gradient(loss, {"x": given, **{key: variable for key, (variable, _) in weights.items()}})
    for key, want in truth.items():
        got = tf.convert_to_tensor(found[key]).numpy().astype(np.float64)
        perm = weights[key][1] if key in weights else None
        got = got.transpose(np.argsort(perm)) if perm else got
        allowed = K * np.abs(source[key] - want).max() + LEAST * np.abs(want).max()
        assert np.abs(got - want).max() <= allowed, key


@pytest.mark.parametrize("name", ["mlp", "conv", "attention", "gru"])
def test_three_steps_give_the_same_losses(name: str) -> None:
    make, shape = MODULES[name]
    torch.manual_seed(1)
    module = make().eval()
    x = torch.randn(shape)
    result = trueport.convert(module, to="tensorflow", example_inputs=(x,), verify=False)
    variables = [variable for variable, _ in trained(result).values()]
    optimizer = torch.optim.SGD(module.parameters(), lr=1e-3)
    for _ in range(3):
        optimizer.zero_grad()  # The module goes on in its own memory: the converted one has copies.
        want = module(x).square().sum()
        want.backward()
        optimizer.step()
        with tf.GradientTape() as tape:
            loss = loss_of(result, tf.constant(x.numpy()))
        for variable, grad in zip(variables, tape.gradient(loss, variables), strict=True):
            variable.assign_sub(1e-3 * tf.convert_to_tensor(grad))
        assert abs(loss.numpy() - want.item()) <= LEAST * abs(want.item())
