"""Fuzz conversions, and print the count so far.

    python -m tests.fuzz --source onnx --count 500        # goes on behind the last seed on record
    python -m tests.fuzz --source torch --seed 123        # one graph again, with its text
    python -m tests.fuzz --mended                         # all finds again; those that are none now leave the record
    python -m tests.fuzz                                  # the record

Seeds and finds are kept in record.json. Graphs run in a child process, so that a native crash is a find.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.progress import track

RECORD = Path(__file__).with_name("record.json")
SOURCES = ("onnx", "tensorflow", "torch")
GROUP = 8
"""Graphs in one conversion: most of a small conversion's time does not depend on its graph."""
CHUNK = 80
"""Graphs in one child process."""
QUIET = ("agrees", "refused", "invalid", "runtime")
"""Outcomes that are no finds."""
SECONDS = 1800
"""Limit of a child; a graph that does not end is a find."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--source", choices=SOURCES)
    parser.add_argument("--count", type=int, default=0, metavar="N", help="graphs to try, behind those on record")
    parser.add_argument("--seed", type=int, help="one graph again")
    parser.add_argument("--mended", action="store_true", help="run all finds again")
    parser.add_argument("--child", nargs=2, type=int, metavar=("FIRST", "END"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        return _child(asked.source, *asked.child)
    if asked.seed is not None:
        return _again(asked.source, asked.seed)
    record: dict[str, Any] = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    if asked.mended:
        _run_finds_again(record)
    if asked.source and asked.count:
        first = record.get(asked.source, {}).get("graphs", 0)
        for start in track(range(first, first + asked.count, CHUNK), description=asked.source):
            _keep(record, asked.source, start, min(start + CHUNK, first + asked.count))
    print(_shown(record))
    return int(any(found["finds"] for found in record.values()))


def _keep(record: dict[str, Any], source: str, first: int, end: int) -> None:
    """Run the seeds from ``first`` up to ``end`` in a child, and store what became of them."""
    entry = record.setdefault(source, {"graphs": 0, "outcomes": {}, "finds": []})
    counts = Counter(entry["outcomes"])
    at = first
    while at < end:
        lines, at, death = _run_child(source, at, end)
        for line in lines:
            counts[f"{line['target']} {line['kind']}"] += 1
            if line["kind"] not in QUIET:
                entry["finds"].append(line)
        if death:
            entry["finds"].append({"seed": at - GROUP, "target": "?", "kind": "crashed", "why": death})
    entry["graphs"], entry["outcomes"] = end, dict(sorted(counts.items()))
    RECORD.write_text(json.dumps(record, indent=1) + "\n")


def _run_finds_again(record: dict[str, Any]) -> None:
    for source, entry in record.items():
        counts, finds = Counter(entry["outcomes"]), entry["finds"]
        entry["finds"] = []
        for find in track(finds, description=source):
            lines, _, death = _run_child(source, find["seed"], find["seed"] + 1)
            counts[f"{find['target']} {find['kind']}"] -= 1
            for line in lines:
                if line["target"] == find["target"] or find["target"] == "?":
                    counts[f"{line['target']} {line['kind']}"] += 1
                    entry["finds"] += [] if line["kind"] in QUIET else [line]
            entry["finds"] += [find] if death else []
        entry["outcomes"] = {name: count for name, count in sorted(counts.items()) if count > 0}
    RECORD.write_text(json.dumps(record, indent=1) + "\n")


def _run_child(source: str, first: int, end: int) -> tuple[list[dict[str, Any]], int, str]:
    """Return the outcomes of a child, the seed to go on with, and how it died, if it did."""
    command = [sys.executable, "-m", "tests.fuzz", "--source", source, "--child", str(first), str(end)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        output, death = done.stdout, f"exit code {done.returncode}: {done.stderr[-300:]}" if done.returncode else ""
    except subprocess.TimeoutExpired as error:
        output, death = (error.stdout or b"").decode(), f"no end within {SECONDS} s"
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    started = [line["start"] for line in lines if "start" in line]
    return [line for line in lines if "start" not in line], (started or [first])[-1] + GROUP if death else end, death


def _language(source: str) -> Any:
    if source == "onnx":
        from tests.fuzz.onnx_programs import OnnxPrograms as Programs
    elif source == "tensorflow":
        from tests.fuzz.tensorflow_programs import TensorflowPrograms as Programs
    else:
        from tests.fuzz.torch_programs import TorchPrograms as Programs
    return Programs()


def _child(source: str, first: int, end: int) -> int:
    from tests.fuzz.judge import outcomes
    from tests.fuzz.program import draw

    language = _language(source)
    for start in range(first, end, GROUP):
        print(json.dumps({"start": start}), flush=True)
        programs = [draw(language, seed) for seed in range(start, min(start + GROUP, end))]
        for outcome in outcomes(language, [program for program in programs if program.lines]):
            print(json.dumps(vars(outcome)), flush=True)
    return 0


def _again(source: str, seed: int) -> int:
    from tests.fuzz.judge import outcomes
    from tests.fuzz.program import draw

    language = _language(source)
    program = draw(language, seed)
    print(program.text())
    results = list(outcomes(language, [program]))
    print(*results, sep="\n")
    return int(any(outcome.kind not in QUIET for outcome in results))


def _shown(record: dict[str, Any]) -> str:
    lines: Iterable[str] = (
        f"{source}: {entry['graphs']:,} graphs; "
        + ", ".join(f"{name} {count:,}" for name, count in entry["outcomes"].items())
        + "".join(
            f"\n  {find['kind']} {source} {find['seed']} to {find['target']}: {find['why']}" for find in entry["finds"]
        )
        for source, entry in record.items()
    )
    return "\n".join([*lines, f"{sum(entry['graphs'] for entry in record.values()):,} graphs in all"])


if __name__ == "__main__":
    sys.exit(main())
