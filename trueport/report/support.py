"""The support table and an operator's card, printed from the declarations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from trueport.errors import UsageError
from trueport.fidelity import BITWISE, Fidelity
from trueport.ir.schemas import CANONICAL_OPSETS, canonical_schema, has_body, history, operators
from trueport.mapping.declare import OpMapping
from trueport.mapping.registry import Registry

__all__ = ["describe_operator", "support_data", "support_page", "support_table"]

BY_BODY, UPGRADED = "by its body", "upgraded"
_PROMISES = {
    "bitwise": "the same bits",
    "exact": "the same function; rounding may differ within the bound given, in units of the last place (ulp) of "
    "the exactly rounded result; *per term* is added for each term that an element sums up",
    "approximate": "another formula, or one that amplifies rounding; the reason is given",
    "lossy": "information goes; the reason is given",
    BY_BODY: "no mapping of its own: expanded to the operators by which ONNX defines it",
    UPGRADED: "withdrawn by ONNX: rewritten to its successor when the model is read",
    "unsupported": "refused before anything is written",
}


_SOURCES = {"tensorflow": "ONNX", "onnx": "TensorFlow"}
_NAMES = {"tensorflow": "TensorFlow", "onnx": "ONNX"}
_VERSIONS = {
    "tensorflow": "*Versions* are the opsets that changed the operator. A model of any of them is upgraded before it "
    "is converted, so one line holds for all.",
    "onnx": "Operators that hang on constants alone are computed by TensorFlow itself while converting and need no "
    "line here. What a line does not say is refused case by case, with place, reason and remedy.",
}
_TENSORFLOW = {"tf": "TensorFlow's operators", "tf.complex": "The same on complex numbers, as pairs of real ones"}


class _Row(NamedTuple):
    """One operator of the table."""

    op: str
    domain: str
    versions: str
    fidelity: str
    bound: str
    notes: str

    @property
    def name(self) -> str:
        return f"{self.domain}::{self.op}" if self.domain else self.op

    @property
    def promise(self) -> str:
        return f"{self.fidelity} ({self.bound})" if self.bound else self.fidelity


def _rows(registry: Registry) -> list[_Row]:
    """All that is declared; for a source in ONNX all that ONNX defines beside it."""
    declared = {mapping.key: mapping for mapping in registry}
    keys = sorted(set(declared) | (set() if registry.target == "onnx" else set(operators())))
    return [_row(op, domain, declared.get((domain, op))) for domain, op in keys]


def _row(op: str, domain: str, mapping: OpMapping | None) -> _Row:
    versions = ", ".join(str(schema.since_version) for schema in history(op, domain))
    if mapping is not None:
        bound = str(mapping.error) if mapping.fidelity != BITWISE and mapping.error is not None else ""
        return _Row(op, domain, versions, _word(mapping.fidelity), bound, "; ".join(_notes(mapping)))
    schema = canonical_schema(op, domain)
    if schema is not None and schema.deprecated:
        return _Row(op, domain, versions, UPGRADED, "", "deprecated; rewritten to its successor")
    if schema is not None and has_body(schema):
        return _Row(op, domain, versions, BY_BODY, "", "expanded to the operators that define it")
    return _Row(op, domain, versions, "unsupported", "", "")


def _notes(mapping: OpMapping) -> Iterator[str]:
    if mapping.because:
        yield mapping.because
    for limit in mapping.limits:
        yield f"{limit.label} ({_word(limit.effect)}): {limit.because}"
    if mapping.random:
        yield "random: values can't equal another runtime's"


def _word(fidelity: Fidelity) -> str:
    return fidelity.name.lower()


def support_table(registry: Registry) -> str:
    """Plain text, one operator a line."""
    rows = [("operator", "versions", "fidelity", "notes")]
    rows += [(row.name, row.versions, row.promise, row.notes) for row in _rows(registry)]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]).rstrip()
        for row in rows
    )


def support_page(registry: Registry) -> str:
    """The same as a Markdown page: counts, then a table per domain, then the limits."""
    rows = _rows(registry)
    domains = list(dict.fromkeys(row.domain for row in rows))
    lines = [
        f"# Operators: {_SOURCES[registry.target]} to {_NAMES[registry.target]}",
        "",
        "Printed from the declarations that convert, by `make docs`; a stale page fails the tests. "
        f"`trueport ops --to {registry.target}` prints the same on a terminal, with a name behind it one operator "
        "in full.",
        "",
        *_summary(rows, domains),
        "",
        *(f"- **{promise}**: {meaning}" for promise, meaning in _PROMISES.items()),
        "",
        _VERSIONS[registry.target],
    ]
    for domain in domains:
        lines += ["", f"## {_title(domain)}", ""]
        lines += _table(
            ("operator", "versions", "fidelity", "bound", "notes"),
            ((row.op, row.versions, row.fidelity, row.bound, row.notes) for row in rows if row.domain == domain),
        )
    return "\n".join([*lines, "", *_limits(registry)]) + "\n"


def _summary(rows: Sequence[_Row], domains: Sequence[str]) -> list[str]:
    """How many operators of each domain get which promise."""

    def counted(label: str, chosen: Sequence[_Row]) -> tuple[str, ...]:
        found = Counter(row.fidelity for row in chosen)
        return label, *(str(found[promise] or "") for promise in _PROMISES), str(len(chosen))

    body = [counted(domain or "ai.onnx", [row for row in rows if row.domain == domain]) for domain in domains]
    return _table(("domain", *_PROMISES, "all"), [*body, counted("**all**", rows)])


def _title(domain: str) -> str:
    if domain in _TENSORFLOW:
        return _TENSORFLOW[domain]
    opset = CANONICAL_OPSETS.get(domain)
    return f"{domain or 'ai.onnx'} (up to opset {opset})" if opset else f"{domain} (ONNX has no schemas for it)"


def _limits(registry: Registry) -> list[str]:
    rows = sorted(
        (limit.label, f"{mapping.domain}::{mapping.op}".removeprefix("::"), limit.effect, limit.because, limit.remedy)
        for mapping in registry
        for limit in mapping.limits
    )
    head = ["## Limits", "", "Cases in which an operator gets less than its line above promises.", ""]
    spelled = ((label, op, _word(effect), *why) for label, op, effect, *why in rows)
    return [*head, *_table(("label", "operator", "effect", "because", "remedy"), spelled)]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


def describe_operator(registry: Registry, name: str) -> str:
    """One operator in full: promise, dtypes, limits, who declared it."""
    found = [row for row in _rows(registry) if name in (row.name, row.name.removeprefix("tf::"))]
    if not found:
        raise UsageError(f"there is no operator {name!r}", remedy="trueport ops lists all")
    row = found[0]
    mapping = registry.find(row.op, row.domain)
    lines = [row.name, f"  versions: {row.versions or 'no schema'}", f"  fidelity: {row.promise}"]
    if row.notes:
        lines.append(f"  notes: {row.notes}")
    if mapping is not None:
        lines.append(f"  declared in: {mapping.by}")
        lines += [f"  {kind}: {', '.join(sorted(d.name for d in types))}" for kind, types in mapping.dtypes.items()]
        lines += [f"  ignores {attribute}: {why}" for attribute, why in mapping.ignores.items()]
    return "\n".join(lines)


def support_data(registry: Registry, operator: str | None = None) -> list[dict[str, str]]:
    """The table's rows for programs; of one operator where it is named, in every domain that has it."""
    rows = [row for row in _rows(registry) if operator is None or operator in (row.op, row.name)]
    if not rows:
        raise UsageError(f"there is no operator {operator!r}", remedy="`trueport ops` lists them all")
    return [row._asdict() for row in rows]
