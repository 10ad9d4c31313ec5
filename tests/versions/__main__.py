"""Build an environment per set of versions, run the core tests in each, and print a table set × part.

    python -m tests.versions [--sets PATTERN] [--parts PATTERN] [--cache FOLDER] [--remove] [--write]

Sets and parts stand in tests/versions/sets.py. Environments are kept in the cache, so that a second run only tests.
A set that pip cannot resolve is listed with its conflict. ``--write`` puts the table into README.md. Ends with 1 if a
test fails.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.versions.sample import EVERY
from tests.versions.sets import PARTS, SETS, TOOLS, Part, Set

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "README.md"
MARKS = ("<!-- versions -->", "<!-- end of versions -->")
SHOWN = ("tensorflow", "torch", "onnxruntime", "onnx", "numpy")
PYTEST = ("-m", "pytest", "-W", "ignore", "-p", "no:cacheprovider", "-m", "not slow", "-p", "tests.versions.sample")
_CAUSES = "The conflict is caused by:"


@dataclass(frozen=True)
class Row:
    """What one set gave."""

    set: Set
    versions: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """passed, failed and skipped tests by part"""
    conflict: str = ""
    """why there is no environment"""

    @property
    def failed(self) -> int:
        return sum(count.get("failed", 0) for count in self.counts.values())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.versions", description=__doc__)
    parser.add_argument("--sets", default="", metavar="PATTERN", help="only sets whose name has the pattern")
    parser.add_argument("--parts", default="", metavar="PATTERN", help="only parts whose name has the pattern")
    parser.add_argument("--cache", type=Path, default=ROOT / "bench" / ".cache" / "versions", help="for environments")
    parser.add_argument("--remove", action="store_true", help="remove each environment after its run: several GB each")
    parser.add_argument(
        "--write",
        action="store_true",
        help="put the table into README.md",
    )
    asked = parser.parse_args()
    asked.cache.mkdir(parents=True, exist_ok=True)
    parts = [part for part in PARTS if re.search(asked.parts, part.name)]
    chosen_sets = [chosen for chosen in SETS if re.search(asked.sets, chosen.name)]
    for chosen in chosen_sets:
        run(chosen, parts, asked.cache)
        if asked.remove:
            shutil.rmtree(folder_of(chosen, asked.cache), ignore_errors=True)
    text = table([seen(chosen, asked.cache) for chosen in SETS])
    print(text)
    if asked.write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(MARKS[0])
        PAGE.write_text(f"{before}{MARKS[0]}\n{text}\n{MARKS[1]}{rest.partition(MARKS[1])[2]}", encoding="utf-8")
    return int(any(seen(chosen, asked.cache).failed for chosen in chosen_sets))


def folder_of(chosen: Set, cache: Path) -> Path:
    """Return where the set's environment stands."""
    return cache / re.sub(r"[^a-z0-9.]+", "-", chosen.name.lower())


def run(chosen: Set, parts: Sequence[Part], cache: Path) -> None:
    """Build the set's environment if it is not there, and run the parts in it; what is seen is kept in the cache."""
    folder = folder_of(chosen, cache)
    conflict = build(chosen, folder)
    found = {"conflict": conflict} if conflict else installed(folder / "bin" / "python")
    print(f"{chosen.name}: {found}", file=sys.stderr, flush=True)
    folder.with_name(f"{folder.name}.json").write_text(json.dumps(found))
    for part in parts if not conflict else ():
        run_part(chosen, part, folder / "bin" / "python", cache)


def log_of(chosen: Set, part: Part, cache: Path) -> Path:
    """Return where a part's output is kept."""
    return cache / f"{folder_of(chosen, cache).name}-{re.sub(r'[^a-z]+', '-', part.name.lower())}.txt"


def seen(chosen: Set, cache: Path) -> Row:
    """Return what the last runs of a set gave; empty where it was never run."""
    folder = folder_of(chosen, cache)
    path = folder.with_name(f"{folder.name}.json")
    found = json.loads(path.read_text()) if path.exists() else {}
    logs = {part.name: log_of(chosen, part, cache) for part in PARTS}
    counts = {name: counted(log.read_text()) for name, log in logs.items() if log.exists()}
    return Row(chosen, found, counts, found.pop("conflict", ""))


def build(chosen: Set, folder: Path) -> str:
    """Make the environment; return the reason if pip cannot, else an empty text."""
    if (folder / ".ready").exists():
        return ""
    base = interpreter(chosen.python)
    if base is None:
        return f"Python {chosen.python} is not installed"
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([base, "-m", "venv", folder], check=True)
    install = [folder / "bin" / "python", "-m", "pip", "install", "--quiet"]
    subprocess.run([*install, "--upgrade", "pip"], check=True, stderr=subprocess.DEVNULL)
    wanted = [f"{ROOT}[{chosen.extras}]", *chosen.requires, *TOOLS]
    # Resolving alone first: a conflict is found before gigabytes are loaded.
    for command in ([*install[:4], "--dry-run"], install):
        done = subprocess.run([*command, *wanted], capture_output=True, text=True)
        if done.returncode:
            shutil.rmtree(folder)
            return conflict_of(done.stdout, done.stderr)
    # The tests and the package are those of this folder.
    subprocess.run([*install[:3], "uninstall", "--quiet", "--yes", "trueport"], check=True)
    (folder / ".ready").touch()
    return ""


def conflict_of(printed: str, errors: str) -> str:
    """Return what pip says about a set that it cannot resolve, on one line."""
    causes = printed.partition(_CAUSES)[2].strip().partition("\n\n")[0].splitlines()
    refusals = [line.removeprefix("ERROR: ") for line in errors.splitlines() if line.startswith("ERROR: ")]
    lines = causes or refusals or errors.splitlines()[-3:]
    return "; ".join(dict.fromkeys(line.strip().replace("|", "or") for line in lines))[:400]


def interpreter(version: str) -> str | None:
    """Return the path of an interpreter that starts, from PATH or from pyenv."""
    rooms = sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob(f"versions/{version}.*/bin/python"))
    for candidate in (f"python{version}", *map(str, rooms)):
        path = shutil.which(candidate)
        code = "import sys; print('%d.%d' % sys.version_info[:2])"
        started = path and subprocess.run([path, "-c", code], capture_output=True, text=True)
        if started and started.stdout.strip() == version:
            return path
    return None


def installed(python: Path) -> dict[str, str]:
    """Return the versions of an environment: Python's, and those of the packages that the table shows."""
    code = (
        "import importlib.metadata as m, json, platform\n"
        f"found = {{name: m.version(name).partition('+')[0] for name in {SHOWN!r}}}\n"
        "print(json.dumps({'python': platform.python_version(), **found}))"
    )
    return dict(json.loads(subprocess.run([python, "-c", code], capture_output=True, check=True).stdout))


def run_part(chosen: Set, part: Part, python: Path, cache: Path) -> None:
    """Run one part, and keep what it printed."""
    environment = {**os.environ, EVERY: str(part.every), "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run([python, *PYTEST, *part.paths], cwd=ROOT, env=environment, capture_output=True, text=True)
    log = log_of(chosen, part, cache)
    log.write_text(done.stderr + done.stdout)
    print(f"{chosen.name}: {part.name}: {cell(counted(log.read_text()))}, see {log}", file=sys.stderr, flush=True)


def counted(printed: str) -> dict[str, int]:
    """Return how many tests passed, failed and were skipped; a run that ended without a summary counts as failed."""
    last = printed.strip().rpartition("\n")[2]
    found = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|error|skipped)", last)}
    failed = found.get("failed", 0) + found.get("error", 0) or int(not found)
    return {"passed": found.get("passed", 0), "failed": failed, "skipped": found.get("skipped", 0)}


def table(rows: Sequence[Row]) -> str:
    """Return the rows in Markdown: the versions and the tests that passed, then the sets that pip refuses."""
    lines = [f"| set | Python | {' | '.join(SHOWN)} | {' | '.join(part.name for part in PARTS)} |"]
    lines.append("| --- |" + " --- |" * (1 + len(SHOWN) + len(PARTS)))
    for row in rows:
        if row.versions and not row.conflict:
            cells = [row.versions[name] for name in ("python", *SHOWN)]
            cells += [cell(row.counts[part.name]) if part.name in row.counts else "" for part in PARTS]
            lines.append(f"| {row.set.name} | {' | '.join(cells)} |")
    refused = [row for row in rows if row.conflict]
    if refused:
        lines += ["", "| refused by pip | why |", "| --- | --- |"]
        lines += [f"| {row.set.name}, Python {row.set.python} | {row.conflict} |" for row in refused]
    return "\n".join(lines)


def cell(count: Mapping[str, int]) -> str:
    """Return the numbers of one cell; those that are 0 are left out."""
    more = [f"{count[word]} {word}" for word in ("failed", "skipped") if count.get(word)]
    return ", ".join([f"{count['passed']} passed", *more])


if __name__ == "__main__":
    raise SystemExit(main())
