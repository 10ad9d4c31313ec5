"""Known causes of loss and surprise beyond what the operators' declarations say; each is a small function."""

from __future__ import annotations

import functools
import importlib
import pkgutil

from trueport.checking.remarks import Remark
from trueport.checking.rules.base import Rule, Subject, rules_of

__all__ = ["Subject", "all_rules", "examine"]


@functools.cache
def all_rules() -> tuple[Rule, ...]:
    """The rules of every module in this folder."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name != "base")
    return rules_of(*(importlib.import_module(f"{__name__}.{name}") for name in names))


def examine(subject: Subject) -> tuple[Remark, ...]:
    """What all rules say of a model."""
    return tuple(remark for rule in all_rules() for remark in rule.remarks(subject))
