"""``python -m bench``: all measurements, or those that are named.

Peers are installed into environments of their own (``bench/.envs``) at first use; models and their
conversions are kept in ``bench/.cache``. Ratios are of one run: forms and tools take turns.
"""

from __future__ import annotations

import argparse
import compileall
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench import conversion, latency, memory, scaling
from bench.models import CACHE, BenchModel, matching
from bench.peers import LIMIT

PARTS = (
    "check",
    "conversion",
    "costs",
    "latency",
    "memory",
    "scaling",
    "faults",
    "strangers",
    "alarms",
    "faithful_pairs",
    "hidden",
    "covered",
    "known_faults",
    "locate",
    "k",
    "tf2onnx",
    "verification",
    "versions",
)


def main() -> None:
    options = _options()
    models = list(matching(options.models, options.quick))
    for part in options.parts or PARTS:
        print(_run(part, options, models), flush=True)


def _run(part: str, options: argparse.Namespace, models: list[BenchModel]) -> str:
    if part == "latency":
        rounds = options.rounds or (10 if options.quick else 40)
        settings = {"rounds": rounds, "threads": options.threads, "clock": options.clock, "fresh": options.fresh}
        results = []
        for model in _shown(part, models):
            results.append(latency.measure(model, CACHE, **settings))
            print(latency.line(results[-1]), file=sys.stderr, flush=True)
        return latency.report(results, options.threads, options.clock)
    if part == "conversion":
        rounds = options.rounds or (1 if options.quick else 2)
        settings = {"rounds": rounds, "limit": options.limit, "verified": options.verified}
        found = []
        for model in _shown(part, models):
            found.append(conversion.measure(model, CACHE, **settings))
            print(conversion.line(found[-1]), file=sys.stderr, flush=True)
        return conversion.report(found)
    if part == "tf2onnx":
        return _tf2onnx(options)
    if part == "versions":
        from bench import versions

        settings = {"base": options.base, "rounds": options.rounds or 20, "threads": options.threads}
        compared = []
        for model in _shown(part, models):
            compared.append(versions.measure(model, CACHE, **settings))
            print(versions.line(compared[-1]), file=sys.stderr, flush=True)
        return versions.report(compared, options.base)
    if part == "costs":
        from bench import costs

        rounds, spent = options.rounds or 3, []
        for model in _shown(part, models):
            spent.append(costs.measure(model, CACHE, base=options.base, rounds=rounds))
            print(costs.line(spent[-1]), file=sys.stderr, flush=True)
        return costs.report(spent, options.base, rounds)
    if part == "verification":
        return _verification(options, models)
    if part == "faults":
        from bench.faults.faithful import run_faithful
        from bench.faults.trials import APART, run_faults

        count = options.trials or (50 if options.quick else 500)
        reproduced = 12 if options.quick else count
        drawn = (count, options.seed, options.models, reproduced, options.jobs)
        if options.apart:
            return run_faults(*drawn, nets=APART)
        return f"{run_faults(*drawn)}\n{run_faithful(options.models)}"
    if part == "strangers":
        from bench.faults.strangers.cells import Choice
        from bench.faults.strangers.run import run_strangers

        choice = Choice(options.half, options.kinds, options.models, options.forms)
        count = options.count or (20 if options.quick else 1000)
        return run_strangers(count, options.seed, choice, options.jobs, options.resume, options.details)
    if part == "alarms":
        from bench.faults.faithful import run_faithful
        from bench.faults.others import run_others

        return "\n".join([run_faithful(options.models), run_others(CACHE, options.models)])
    if part == "faithful_pairs":
        from bench.faults.pairs.report import run_pairs

        count = options.count or (15 if options.quick else None)
        return run_pairs(count, options.seed, options.kinds, options.resume, CACHE)
    if part == "hidden":
        from bench.faults.hidden.report import run_hidden

        count = options.count or (5 if options.quick else None)
        return run_hidden(options.half, options.details, options.resume, CACHE, count)
    if part == "covered":
        from bench.faults.covered.report import run_covered

        return run_covered(options.count or (10 if options.quick else 100), options.seed, options.models)
    if part == "known_faults":
        from bench import known_faults

        return known_faults.report()
    if part == "locate":
        from bench import locate

        return locate.report(*((50, 256) if options.quick else ()))
    if part == "k":
        from bench import noise_ratios

        settings = {"faults": options.trials or (40 if options.quick else 400), "seed": options.seed}
        return noise_ratios.report(CACHE, quick=options.quick, models=options.models, **settings)
    if part == "check":
        from bench import check

        return check.report(5000, 1.0, options.rounds or (1 if options.quick else 5))
    if part == "memory":
        return memory.report(0.5 if options.quick else 4)
    return scaling.report((100, 1000) if options.quick else scaling.SIZES)


def _verification(options: argparse.Namespace, models: list[BenchModel]) -> str:
    from bench import verification

    rounds, found = options.rounds or (1 if options.quick else 2), []
    for model in _shown("verification", models):
        found.append(verification.measure(model, CACHE, base=options.base, rounds=rounds))
        print(verification.line(found[-1]), file=sys.stderr, flush=True)
    return verification.report(found, options.base, rounds)


def _tf2onnx(options: argparse.Namespace) -> str:
    from bench import keras_zoo, tf2onnx

    settings = {
        "rounds": options.rounds or (10 if options.quick else 40),
        "threads": options.threads,
        "limit": options.limit,
    }
    # Installed packages come compiled; ours runs from its source, perhaps for the first time.
    compileall.compile_dir(CACHE.parent.parent / "trueport", quiet=2)
    found = []
    for model in _shown("tf2onnx", list(keras_zoo.matching(options.models, options.quick))):
        found.append(tf2onnx.measure(model, CACHE, **settings))
        print(tf2onnx.line(found[-1]), file=sys.stderr, flush=True)
    return tf2onnx.report(found, options.threads)


def _shown(part: str, models: list[Any]) -> Iterator[Any]:
    for number, model in enumerate(models, 1):
        print(f"{part} {number}/{len(models)}: {model.name}", file=sys.stderr, flush=True)
        yield model


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Speed and memory beside other tools.")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="what to measure; all when none is named")
    parser.add_argument("--models", default="", metavar="PATTERN", help="only models whose name holds the pattern")
    parser.add_argument("--quick", action="store_true", help="few models, few rounds, small sizes")
    parser.add_argument("--rounds", type=int, help="how often each form or tool has its turn")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="for every runtime; all cores by default")
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall", help="cpu: fairer on a busy machine")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds of work for one conversion")
    parser.add_argument("--verified", action="store_true", help="time our conversion with its comparison too")
    parser.add_argument("--trials", type=int, help="faults to inject")
    parser.add_argument("--apart", action="store_true", help="faults into models that no rule was made with")
    parser.add_argument("--jobs", type=int, default=1, help="trials of faults that run at a time")
    parser.add_argument("--seed", type=int, default=0, help="which faults, where, in which order")
    parser.add_argument(
        "--count", type=int, help="trials of `strangers` and `covered`, pairs, or hidden faults of each half"
    )
    parser.add_argument("--half", choices=["tune", "report"], help="of `strangers` and `hidden`; both by default")
    parser.add_argument("--kinds", default="", metavar="PATTERN", help="of `strangers` and of pairs")
    parser.add_argument("--forms", default="", metavar="PATTERN", help="of targets of `strangers`")
    parser.add_argument("--resume", type=Path, metavar="FILE", help="JSON lines of an earlier run: skip what it has")
    parser.add_argument("--details", action="store_true", help="cases and kinds, of the half to report as well")
    parser.add_argument(
        "--base", default="HEAD~1", help="the earlier commit, for `versions`, `costs` and `verification`"
    )
    parser.add_argument("--fresh", action="store_true", help="convert with the peers again")
    return parser.parse_args()


if __name__ == "__main__":
    main()
