"""What the hand-written networks are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn

from tests.torch.operators.draws import normal
from tests.torch.zoo.member import Member

__all__ = ["Of", "first", "function", "images", "layers", "rows", "waves"]


class Of(nn.Module):
    """A function as a network; its parameters name the inputs."""

    def __init__(self, called: Callable[..., Any]) -> None:
        super().__init__()
        self.forward = called


class _First(nn.Module):
    """A layer of which the first result counts."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Any) -> Any:
        return self.layer(x)[0]


def first(layer: nn.Module) -> nn.Module:
    return _First(layer)


def rows(n: int) -> Any:
    return normal(n, 6)


def waves(n: int) -> Any:
    return normal(n, 4, n + 8)


def images(n: int) -> Any:
    return normal(n, 4, 8, 9)


def function(name: str, called: Callable[..., Any], inputs: Callable[[int], Any] = rows, **more: Any) -> Member:
    return Member(name, lambda: Of(called), inputs, **more)


def layers(name: str, *made: Callable[[], nn.Module], inputs: Callable[[int], Any] = rows, **more: Any) -> Member:
    """Layers one after the other."""
    return Member(name, lambda: nn.Sequential(*(make() for make in made)), inputs, **more)
