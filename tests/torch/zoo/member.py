"""One network of the zoo: how it is built, what it is called with, what becomes of it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

__all__ = ["SIZES", "TARGETS", "Member", "all_members"]

TARGETS = ("onnx", "tensorflow")
SIZES = (2, 3)
"""What the first open dim is in the two calls; others are reckoned from it."""


@dataclass(frozen=True)
class Member:
    """Converts to both targets and agrees at both sizes, unless it says otherwise.

    ``inputs`` gives the arguments for a size: a tensor, a tuple, or a dict by parameter. Dims that differ between the
    two sizes stay open.
    """

    name: str
    make: Callable[[], Any]
    inputs: Callable[[int], Any]
    cannot: Mapping[str, str] = field(default_factory=dict)
    """targets that can't hold it, and why: conversion must be refused"""
    departs: Mapping[str, str] = field(default_factory=dict)
    """targets on which it does not agree yet, and by how much"""
    fixed: str = ""
    """why no dim stays open"""
    quick: bool = False
    """among those that every run of the tests converts to ONNX"""

    def module(self) -> Any:
        """The network with the same weights each time, as it is used."""
        torch.manual_seed(0)
        return self.make().eval()

    def samples(self) -> list[Any]:
        return [self.inputs(size) for size in (SIZES[:1] if self.fixed else SIZES)]


def all_members() -> dict[str, list[Member]]:
    """The MEMBERS of every module of this folder that has them, by the module's name without its kind."""
    package = importlib.import_module("tests.torch.zoo")
    names = sorted(m.name for m in pkgutil.iter_modules(package.__path__) if "_" in m.name and m.name[:4] != "test")
    return {name: importlib.import_module(f"tests.torch.zoo.{name}").MEMBERS for name in names}
