"""The stored table of devices: ``python -m tests.devices.table write`` makes it, ``check`` fails when it is stale.

It takes a few minutes: ONNX's whole suite is converted, and many of its cases once more in other types.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf
from onnx.defs import OpSchema

import trueport.checking.devices as stored
from tests.devices.collect import Collected, Instance, collect
from trueport.ir.schemas import canonical_schema

__all__ = ["FILE", "cpu_only", "table", "text"]

FILE = Path(stored.__file__).with_suffix(".json")


def table(found: Collected) -> dict[str, Any]:
    """What the file holds."""
    if found.without_cpu:
        raise SystemExit("no CPU kernel is registered for:\n" + "\n".join(sorted(found.without_cpu)))
    collected: dict[str, set[str]] = defaultdict(set)
    for op, traits, _ in found.instances:
        if not op.startswith("("):
            collected[op].add(next((value for _, value in traits), "none"))
    return {
        "tensorflow": tf.__version__,
        "operators": {
            op: {place: sorted(types) for place, types in sorted(places.items())}
            for op, places in sorted(found.operators.items())
        },
        "collected": {op: sorted(types) for op, types in sorted(collected.items())},
        "cpu_only": cpu_only(found),
    }


def cpu_only(found: Collected) -> list[dict[str, Any]]:
    """For each ONNX operator that needs it, the fewest traits that decide what has no GPU kernel, and the answers."""
    by_op: dict[str, list[Instance]] = defaultdict(list)
    for instance in sorted(found.instances, key=lambda i: (i.op, i.traits, sorted(i.cpu_only))):
        by_op[instance.op].append(instance)
    return [
        {"op": op, "when": dict(when), "kernels": sorted(kernels), "always": always and not _has_graph(op)}
        for op, instances in by_op.items()
        if any(instance.cpu_only for instance in instances)
        for when, kernels, always in _answers(instances)
    ]


def _has_graph(op: str) -> bool:
    """True for control flow, where what is emitted depends on the values that its graphs take and give."""
    domain, _, name = op.rpartition("::")
    schema = canonical_schema(name, domain)
    graph = OpSchema.AttrType.GRAPH
    return schema is not None and any(attribute.type == graph for attribute in schema.attributes.values())


def _answers(instances: Sequence[Instance]) -> Iterator[tuple[tuple[tuple[str, str], ...], frozenset[str], bool]]:
    names = _deciding(instances)
    for when, answers in sorted(_grouped(instances, names).items()):
        kernels = frozenset().union(*answers)
        if kernels:
            yield when, kernels, len(answers) == 1


def _deciding(instances: Sequence[Instance]) -> tuple[str, ...]:
    """The fewest traits that tell as much of the answer as all of them, the most telling first."""
    names = tuple(dict.fromkeys(name for instance in instances for name, _ in instance.traits))
    least = _undecided(instances, names)
    for count in range(len(names)):
        for chosen in itertools.combinations(names, count):
            if _undecided(instances, chosen) <= least:
                return chosen
    return names


def _undecided(instances: Sequence[Instance], names: Sequence[str]) -> int:
    """How many nodes share these traits with one that has another answer."""
    groups = _grouped(instances, names)
    return sum(len(groups[_chosen(instance, names)]) > 1 for instance in instances)


def _chosen(instance: Instance, names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    known = dict(instance.traits)
    return tuple((name, known.get(name, stored.ABSENT)) for name in names)


def _grouped(
    instances: Iterable[Instance], names: Sequence[str]
) -> dict[tuple[tuple[str, str], ...], set[frozenset[str]]]:
    """The answers of all nodes that agree in these traits."""
    groups: dict[tuple[tuple[str, str], ...], set[frozenset[str]]] = defaultdict(set)
    for instance in instances:
        groups[_chosen(instance, names)].add(instance.cpu_only)
    return groups


def text(content: dict[str, Any]) -> str:
    """JSON with a line per entry, so that changes can be read."""
    lines = [f'{{\n"tensorflow": {json.dumps(content["tensorflow"])},']
    for key in ("operators", "collected"):
        entries = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in content[key].items()]
        lines.append(f'"{key}": {{\n' + ",\n".join(entries) + "\n},")
    lines.append('"cpu_only": [\n' + ",\n".join(map(json.dumps, content["cpu_only"])) + "\n]\n}")
    return "\n".join(lines) + "\n"


def main(mode: str) -> int:
    if mode not in ("write", "check"):
        print("usage: python -m tests.devices.table write|check", file=sys.stderr)
        return 2
    fresh = text(table(collect()))
    if mode == "write":
        FILE.write_text(fresh, encoding="utf-8")
        return 0
    if FILE.read_text(encoding="utf-8") != fresh:
        print(f"{FILE.name} is stale: run `python -m tests.devices.table write`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) == 2 else ""))
