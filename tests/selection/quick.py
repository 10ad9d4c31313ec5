"""One test of each family and direction, the structure, the declarations and the command line.

pytest -p tests.selection.quick -o python_files='test_*.py one_by_one.py'

The rules follow the layout: of a folder with one file per family, the first test of each file; of the command line, the
first row of each test; of PyTorch's cases, the first one of each namespace; what only reads code, whole. Whole networks
are left out, and other files are not imported.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

import pytest

__all__ = ["RULES", "rule_of"]

_TESTS = Path(__file__).parents[1]
Key = Callable[[pytest.Function], Hashable]
"""Of the tests with one key, the first is run; none of those whose key is None."""


def _every(item: pytest.Function) -> Hashable:
    return item.nodeid


def _of_file(item: pytest.Function) -> Hashable:
    return item.path


def _of_function(item: pytest.Function) -> Hashable:
    return item.path, item.originalname


def _of_namespace(item: pytest.Function) -> Hashable:
    case: Any = item.callspec.params["case"]
    return "aten" if case.name.startswith("aten.") else case.name.rpartition(".")[0]


def _none(item: pytest.Function) -> Hashable:
    return None


RULES: dict[str, Key] = {
    "frontends/test_applications.py": _none,
    "test_structure.py": _every,
    "mapping/": _every,
    "operators/": _every,
    "grid/": _of_file,
    "frontends/": _of_file,
    "torch/operators/one_by_one.py": _of_namespace,
    "test_cli.py": _of_function,
}
"""Where tests are taken from, and which: a folder ends with a slash. The first rule that fits holds."""


def rule_of(path: Path) -> Key | None:
    """Return the rule for a file of tests; None if it has none."""
    inside = path.relative_to(_TESTS).as_posix()
    return next(
        (
            rule
            for place, rule in RULES.items()
            if inside == place or (place.endswith("/") and inside.startswith(place))
        ),
        None,
    )


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    if collection_path.suffix != ".py" or not collection_path.name.startswith("test_"):
        return None
    return None if rule_of(collection_path) else True


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the first test for each key. Runs last, after `-m` has deselected the slow tests."""
    first: dict[Hashable, str] = {}
    for item in items:
        rule = rule_of(item.path)
        key = rule(item) if isinstance(item, pytest.Function) and rule else None
        if key is not None:
            first.setdefault(key, item.nodeid)
    kept = set(first.values())
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in kept])
    items[:] = [item for item in items if item.nodeid in kept]
