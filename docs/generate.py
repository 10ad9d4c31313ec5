"""The printed pages: ``generate.py write`` makes them, ``generate.py check`` fails when one is stale."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from generate_api import api_page
from generate_devices import devices_page
from generate_installs import installs_page
from generate_passes import passes_page
from generate_rules import rules_page

from trueport import errors
from trueport.backends.tensorflow.registry import registry
from trueport.frontends.tensorflow.registry import registry as tensorflow_operators
from trueport.report.support import support_page

__all__ = ["PAGES", "stale"]

FOLDER = Path(__file__).parent


def errors_page() -> str:
    """The exception tree as it stands in the code."""
    tree = inspect.getdoc(errors) or ""
    lines = [
        "# Errors",
        "",
        "Printed from `trueport/errors.py` by `make docs`.",
        "",
        "```text",
        tree,
        "```",
        "",
        "`error.where`, `error.why` and `error.remedy` hold the three parts. On the command line each of them is "
        "one screen on stderr and exit code 2.",
        "",
        "| class | is a | meaning |",
        "| --- | --- | --- |",
    ]
    return "\n".join([*lines, *_rows()]) + "\n"


def _rows() -> Iterator[str]:
    for name in errors.__all__:
        error = getattr(errors, name)
        meaning = (inspect.getdoc(error) or "").splitlines()[0]
        yield f"| `{name}` | `{error.__base__.__name__}` | {meaning} |"


PAGES: Mapping[str, Callable[[], str]] = {
    "operators.md": lambda: support_page(registry()),
    "tensorflow-operators.md": lambda: support_page(tensorflow_operators()),
    "errors.md": errors_page,
    "api.md": api_page,
    "check-rules.md": rules_page,
    "devices.md": devices_page,
    "installing.md": installs_page,
    "passes.md": passes_page,
}


def stale(folder: Path = FOLDER) -> list[str]:
    """The pages that are not what the code prints."""
    return [name for name, make in PAGES.items() if _text(folder / name) != make()]


def _text(page: Path) -> str:
    return page.read_text(encoding="utf-8") if page.exists() else ""


def main(mode: str) -> int:
    if mode == "write":
        for name, make in PAGES.items():
            (FOLDER / name).write_text(make(), encoding="utf-8")
        return 0
    if mode == "check":
        old = stale()
        for name in old:
            print(f"docs/{name} is stale: run `make docs`", file=sys.stderr)
        return int(bool(old))
    print("usage: generate.py write|check", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) == 2 else ""))
