"""Take every model of ONNX's backend suite there and back, in child processes, and print what does not come back.

python -m tests.conformance.run_trips RECORD [--pattern '^test_conv'] [--held-out yes|no] [--again]

RECORD is a file with one line of JSON per case. Cases that it has are not run again, so that a run can be resumed;
``--again`` runs those anew that did not come back.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

from tests.cells import is_held_out
from tests.conformance import suite
from tests.conformance.known import CANNOT_PASS, RANDOM
from tests.conformance.trip import come_back, compare
from trueport.errors import TrueportError
from trueport.pipeline import convert

PER_CHILD = 100
SECONDS = 90
"""How long one case may take."""
SEED = 16
"""Draws the third of all cases that is kept apart while code is mended."""

Record = dict[str, tuple[str, str]]


def run(name: str) -> tuple[str, str]:
    """The outcome of one case, and the reason."""
    case = suite.cases()[name]
    model = suite.model_of(case)
    try:
        there = convert(model, verify=False)
    except TrueportError as error:
        return "does not convert", str(error)
    with tempfile.TemporaryDirectory() as folder:
        try:
            for index, (inputs, expected) in enumerate(suite.data_of(case, model)):
                place = Path(folder, str(index))
                place.mkdir()
                made = come_back(there, model, inputs, place)
                with np.errstate(all="ignore"):
                    compare(case, model, inputs, expected, made, random=name in RANDOM)
        except AssertionError as error:
            return "differs", str(error)
        except TrueportError as error:
            return "refused on the way back", str(error)
        except Exception as error:  # a bug, whatever it is: the text says which
            return "failed", f"{type(error).__name__}: {error}"
    return "came back", ""


def child(record: Path, names: list[str]) -> None:
    for name in names:
        outcome, why = run(name)
        _append(record, name, outcome, why)


def _append(record: Path, name: str, outcome: str, why: str) -> None:
    with record.open("a") as file:
        file.write(json.dumps([name, outcome, why]) + "\n")


def read(record: Path) -> Record:
    """The last line about each case counts."""
    if not record.exists():
        return {}
    return {name: (outcome, why) for name, outcome, why in map(json.loads, record.read_text().splitlines())}


def run_all(record: Path, names: list[str]) -> None:
    """Run cases in child processes; whatever ends a child is the outcome of the case that it was at."""
    while names:
        some, lines = names[:PER_CHILD], _lines(record)
        command = [sys.executable, "-m", "tests.conformance.run_trips", str(record), "--child", *some]
        try:
            code = str(subprocess.run(command, capture_output=True, timeout=SECONDS * len(some)).returncode)
        except subprocess.TimeoutExpired:
            code = "timeout"
        done = _lines(record) - lines
        if done < len(some):
            _append(record, some[done], "failed", f"the process ended: {code}")
            done += 1
        names = names[done:]
        print(len(names), "left", flush=True)


def _lines(record: Path) -> int:
    return len(record.read_text().splitlines()) if record.exists() else 0


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("record", type=Path)
    parser.add_argument("--pattern", default="")
    parser.add_argument("--held-out", choices=("yes", "no"))
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--child", nargs="+", metavar="NAME")
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.record, arguments.child)
        return 0
    wanted = [
        name
        for name in sorted(set(suite.cases()) - set(CANNOT_PASS))
        if re.search(arguments.pattern, name)
        and (arguments.held_out is None or is_held_out(name, SEED) == (arguments.held_out == "yes"))
    ]
    known = read(arguments.record)
    settled = {name for name, (outcome, _) in known.items() if outcome == "came back" or not arguments.again}
    run_all(arguments.record, [name for name in wanted if name not in settled])
    known = read(arguments.record)
    for name in wanted:
        outcome, why = known[name]
        if outcome != "came back":
            print(f"{outcome}: {name}: {' '.join(why.split())[:220]}")
    print(dict(Counter(known[name][0] for name in wanted)))
    return int(any(known[name][0] != "came back" for name in wanted))


if __name__ == "__main__":
    raise SystemExit(main())
