"""Everything about one operator, in all directions.

pytest -p tests.selection.operator --operator Resize -o python_files='test_*.py one_by_one.py'

Selected are tests that name the operator in their code or in their row, and tests of TensorFlow sources that name an
operation whose handler emits it; files and public functions called like it; cases of ONNX's backend suite with such a
node; and the tests that ask whether an operator lacks something. Modules that do not concern it are not imported.
Rows of the printed pages are shown at the end.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from pathlib import Path

import onnx
import pytest

from tests.selection.emitters import operations
from tests.selection.modules import Mentions, mentions_of
from tests.selection.names import means, names, texts

__all__ = ["Selection"]

_ROOT = Path(__file__).parents[2]
_TESTS = _ROOT / "tests"
_COMPLETE = ("test_complete.py",)
"""Files that ask whether an operator lacks something: they name none, and concern all."""
_PUBLIC = ("coverage/test_coverage.py", "torch/operators/one_by_one.py")
"""Files whose rows are public functions of a framework."""
_SUITE = "conformance"


class Selection:
    """The tests that concern one operator."""

    def __init__(self, operator: str) -> None:
        self.operator = operator.rpartition("::")[2]
        self.emitting = {frontend: operations(frontend, self.operator) for frontend in ("tensorflow", "torch")}

    def wanted(self, path: Path) -> frozenset[str]:
        """Return the names to look for in a file: those of TensorFlow's operations where its sources are tested."""
        sources = path.is_relative_to(_TESTS / "frontends")
        return frozenset({self.operator} | (self.emitting["tensorflow"] if sources else set()))

    @functools.cache  # noqa: B019
    def mentions(self, path: Path) -> Mentions:
        return mentions_of(path, self.wanted(path))

    def concerns(self, path: Path) -> bool:
        """True if a file may hold tests of the operator."""
        inside = path.relative_to(_TESTS).as_posix()
        special = inside in _PUBLIC or path.name in _COMPLETE or inside.startswith(_SUITE)
        return special or self._is_its_own(path) or bool(self.mentions(path))

    def chosen(self, items: Sequence[pytest.Function]) -> list[pytest.Function]:
        """Return the collected tests that concern the operator.

        Of a function that names it all rows are taken, unless some of them name it themselves.
        """
        by_row = {item.nodeid for item in items if self._has_row(item)}
        with_rows = {(item.path, item.originalname) for item in items if item.nodeid in by_row}
        return [
            item
            for item in items
            if item.nodeid in by_row or ((item.path, item.originalname) not in with_rows and self._has(item))
        ]

    def _has_row(self, item: pytest.Function) -> bool:
        inside, row = item.path.relative_to(_TESTS).as_posix(), _row(item)
        if inside in _PUBLIC:
            return any(self._is_public(getattr(value, "name", "")) for value in row.values())
        if inside.startswith(_SUITE) and row.get("name") in self._cases:
            return True
        return any(names(text, self.wanted(item.path)) for text in (item.callspec.id, *texts(row))) if row else False

    def _has(self, item: pytest.Function) -> bool:
        if item.path.name in _COMPLETE or self._is_its_own(item.path):
            return True
        listed = item.path.relative_to(_TESTS).as_posix().startswith(_SUITE) and "name" in _row(item)
        return not listed and item.originalname in self.mentions(item.path).by_body

    def _is_its_own(self, path: Path) -> bool:
        return path.name.startswith("test_") and means(path.stem.removeprefix("test_"), self.operator)

    def _is_public(self, name: str) -> bool:
        root, _, rest = name.partition(".")
        last = rest.partition(".")[0] if root == "aten" else name
        return (root == "aten" and last in self.emitting["torch"]) or means(last, self.operator)

    @functools.cached_property
    def _cases(self) -> frozenset[str]:
        """Cases of ONNX's suite with a node of the operator, in the graph, its subgraphs or functions."""
        from tests.conformance import suite

        return frozenset(n for n, case in suite.cases().items() if self.operator in _operators(suite.model_of(case)))

    def rows(self) -> Iterator[str]:
        """Yield the rows of the docs' tables that begin with the operator or an operation that emits it."""
        named = {self.operator}.union(*self.emitting.values())
        for page in sorted((_ROOT / "docs").glob("*.md")):
            for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
                first = line.partition("|")[2].partition("|")[0].strip().strip("`") if line.startswith("|") else ""
                if first in named:
                    yield f"docs/{page.name}:{number}: {line}"


def _row(item: pytest.Function) -> dict[str, object]:
    return dict(item.callspec.params) if hasattr(item, "callspec") else {}


def _operators(model: onnx.ModelProto) -> set[str]:
    waiting = [*model.graph.node, *(node for function in model.functions for node in function.node)]
    found = set()
    while waiting:
        node = waiting.pop()
        found.add(node.op_type)
        graphs = [attribute.g for attribute in node.attribute] + [g for a in node.attribute for g in a.graphs]
        waiting += [inner for graph in graphs for inner in graph.node]
    return found


_SELECTION = pytest.StashKey[Selection]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--operator", metavar="NAME", default="", help="select what concerns one operator of ONNX")


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption("--operator"):
        raise pytest.UsageError("which operator? give its name: --operator Resize (make test-op OP=Resize)")
    config.stash[_SELECTION] = Selection(config.getoption("--operator"))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if collection_path.suffix != ".py" or not collection_path.is_relative_to(_TESTS):
        return None
    if not collection_path.name.startswith("test_") and collection_path.name != "one_by_one.py":
        return None
    return None if config.stash[_SELECTION].concerns(collection_path) else True


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    selection = config.stash[_SELECTION]
    chosen = selection.chosen([item for item in items if isinstance(item, pytest.Function)])
    kept = {item.nodeid for item in chosen}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in kept])
    items[:] = chosen


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    selection = config.stash[_SELECTION]
    terminalreporter.section(f"{selection.operator} in the docs")
    for frontend, emitting in selection.emitting.items():
        listed = ", ".join(sorted(emitting)) or "by no handler itself"
        terminalreporter.line(f"emitted from {frontend}: {listed}")
    for row in selection.rows():
        terminalreporter.line(row if len(row) < 200 else row[:199] + "…")
