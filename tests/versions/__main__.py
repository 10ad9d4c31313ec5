"""Build an environment per set of versions, run a sample of the tests in each, and print a table set × part.

    python -m tests.versions [--sets PATTERN] [--parts PATTERN] [--cache FOLDER] [--again] [--remove] [--write]

Sets and parts stand in tests/versions/sets.py. Environments and cells are kept in the cache: a second run goes on where
the first one ended, and runs again only what was seen at another commit. A set that pip cannot resolve is listed with
its conflict. ``--write`` puts the table into README.md. Ends with 1 if a test fails.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.versions import exchange
from tests.versions.environments import ROOT, build, folder_of, installed_versions, python_of
from tests.versions.results import Cell, cell_path, commit_of_tree, counted, keep, keep_environment, kept, row_of
from tests.versions.sample import NAMES, RESULTS
from tests.versions.sets import PARTS, SETS, Part, Set
from tests.versions.table import COLUMNS, READ, WRITTEN, table

PAGE = ROOT / "README.md"
MARKS = ("<!-- versions -->", "<!-- end of versions -->")
PYTEST = ("-m", "pytest", "-W", "ignore", "-p", "no:cacheprovider", "-m", "not slow", "-p", "tests.versions.sample")


def main() -> int:
    asked = _parsed()
    asked.cache.mkdir(parents=True, exist_ok=True)
    commit = commit_of_tree()
    chosen_sets = [chosen for chosen in SETS if re.search(asked.sets, chosen.name)]
    for chosen in chosen_sets:
        if _is_built(chosen, asked.cache):
            wanted = [name for name in COLUMNS if re.search(asked.parts, name)]
            missing = [name for name in wanted if asked.again or not _is_seen(chosen, name, asked.cache, commit)]
            _run_sample(chosen, [part for part in PARTS if part.name in missing], asked.cache, commit)
            _run_exchange(chosen, missing, asked.cache, commit)
        if asked.remove:
            shutil.rmtree(folder_of(chosen, asked.cache), ignore_errors=True)
    text = table([row_of(chosen, COLUMNS, asked.cache) for chosen in SETS])
    print(text)
    if asked.write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(MARKS[0])
        PAGE.write_text(f"{before}{MARKS[0]}\n{text}\n{MARKS[1]}{rest.partition(MARKS[1])[2]}", encoding="utf-8")
    return int(not all(row_of(chosen, COLUMNS, asked.cache).is_right for chosen in chosen_sets))


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.versions", description=__doc__)
    parser.add_argument("--sets", default="", metavar="PATTERN", help="only sets whose name has the pattern")
    parser.add_argument("--parts", default="", metavar="PATTERN", help="only parts whose name has the pattern")
    parser.add_argument("--cache", type=Path, default=ROOT / "bench" / ".cache" / "versions", help="for environments")
    parser.add_argument("--again", action="store_true", help="also run cells that were seen at this commit")
    parser.add_argument("--remove", action="store_true", help="remove each environment after its run: several GB each")
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    return parser.parse_args()


def _is_built(chosen: Set, cache: Path) -> bool:
    """Build the set's environment if it is not there, and keep its versions; False if pip refuses the set."""
    conflict = build(chosen, cache)
    found = {"conflict": conflict} if conflict else installed_versions(python_of(chosen, cache))
    _say(chosen, str(found))
    keep_environment(chosen, cache, found)
    return not conflict


def _is_seen(chosen: Set, name: str, cache: Path, commit: str) -> bool:
    cell = kept(cell_path(chosen, name, cache))
    return cell is not None and cell.commit == commit and not commit.endswith("+")


def _run_sample(chosen: Set, parts: Sequence[Part], cache: Path, commit: str) -> None:
    """Run the parts in one process, which reads the frameworks and collects the tests once, and keep their cells."""
    if not parts:
        return
    results = cache / f"{folder_of(chosen, cache).name}.jsonl"
    results.unlink(missing_ok=True)
    names = "\n".join(part.name for part in parts)
    environment = {**os.environ, NAMES: names, RESULTS: str(results)}
    environment |= {"PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}
    words = [python_of(chosen, cache), *PYTEST, *(path for part in parts for path in part.paths)]
    with results.with_suffix(".log").open("w") as log:
        subprocess.run(words, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT, check=False)
    lines = results.read_text("utf-8") if results.exists() else ""
    for part in parts:
        _keep(chosen, part.name, counted(lines, part, commit), cache)
    _say(chosen, f"see {results.with_suffix('.log')}")


def _run_exchange(chosen: Set, names: Sequence[str], cache: Path, commit: str) -> None:
    """Load SavedModels of this interpreter's set in the set's environment, and the other way round."""
    here, there = Path(sys.executable), python_of(chosen, cache)
    if not {READ, WRITTEN} & set(names):
        return
    folder = cache / "exchange" / commit
    files, saved_here, saved_there = (folder / name for name in ("files", "saved", folder_of(chosen, cache).name))
    if commit.endswith("+"):
        shutil.rmtree(folder, ignore_errors=True)
    if not (folder / "ready").exists():
        shutil.rmtree(folder, ignore_errors=True)
        exchange.run(here, "files", files)
        exchange.run(here, "write", files, saved_here)
        (folder / "ready").touch()
    if READ in names:
        _keep(chosen, READ, _compared(lambda: exchange.exchanged(there, files, saved_here), commit), cache)
    if WRITTEN in names:
        shutil.rmtree(saved_there, ignore_errors=True)

        def write_and_load() -> dict[str, str]:
            exchange.run(there, "write", files, saved_there)
            return exchange.exchanged(here, files, saved_there)

        _keep(chosen, WRITTEN, _compared(write_and_load, commit), cache)


def _compared(compare: Callable[[], dict[str, str]], commit: str) -> Cell:
    """Return the cell of a comparison by model; a process that ends with an error is one failure."""
    try:
        differences = compare()
    except (RuntimeError, subprocess.CalledProcessError) as error:
        return Cell(commit, failed=1, failures=(f"{error}: {getattr(error, 'stderr', '')}"[-500:],))
    wrong = tuple(f"{name}: {why}" for name, why in differences.items() if why)
    return Cell(commit, passed=len(differences) - len(wrong), failed=len(wrong), failures=wrong)


def _keep(chosen: Set, name: str, cell: Cell, cache: Path) -> None:
    keep(cell, cell_path(chosen, name, cache))
    _say(chosen, "\n  ".join([f"{name}: {cell}", *cell.failures]))


def _say(chosen: Set, text: str) -> None:
    print(f"{chosen.name}: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
