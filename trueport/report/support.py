"""The support table and an operator's card, printed from the declarations."""

from __future__ import annotations

from trueport.errors import UsageError
from trueport.fidelity import BITWISE
from trueport.ir.schemas import canonical_schema, has_body, history, operators
from trueport.mapping.declare import OpMapping
from trueport.mapping.registry import Registry

__all__ = ["describe_operator", "support_page", "support_table"]


def _rows(registry: Registry) -> list[tuple[str, str, str, str]]:
    """(operator, versions, fidelity, notes) for all that ONNX defines and all that is declared beside it."""
    declared = {mapping.key: mapping for mapping in registry}
    keys = sorted(set(declared) | set(operators()))
    return [_row(op, domain, declared.get((domain, op))) for domain, op in keys]


def _row(op: str, domain: str, mapping: OpMapping | None) -> tuple[str, str, str, str]:
    name = f"{domain}::{op}" if domain else op
    versions = ", ".join(str(schema.since_version) for schema in history(op, domain))
    if mapping is not None:
        promise = mapping.fidelity.name.lower()
        if mapping.fidelity != BITWISE and mapping.error is not None:
            promise += f" ({mapping.error})"
        notes = [mapping.because, *(f"{limit.label}: {limit.because}" for limit in mapping.limits)]
        if mapping.random:
            notes.append("random: values can't equal another runtime's")
        return name, versions, promise, "; ".join(filter(None, notes))
    schema = canonical_schema(op, domain)
    if schema is not None and schema.deprecated:
        return name, versions, "upgraded", "deprecated; rewritten to its successor"
    if schema is not None and has_body(schema):
        return name, versions, "by its body", "expanded to the operators that define it"
    return name, versions, "unsupported", ""


def support_table(registry: Registry) -> str:
    """Plain text, one operator a line."""
    rows = [("operator", "versions", "fidelity", "notes"), *_rows(registry)]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]).rstrip()
        for row in rows
    )


def support_page(registry: Registry) -> str:
    """The same as a Markdown page."""
    lines = [
        f"# ONNX → {registry.target}: operators",
        "",
        "Printed from the declarations that convert: `python -m trueport.report.support write`. "
        "A stale page fails the tests.",
        "",
        "| operator | versions | fidelity | notes |",
        "|---|---|---|---|",
    ]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in _rows(registry)]
    return "\n".join(lines) + "\n"


def describe_operator(registry: Registry, name: str) -> str:
    """One operator in full: promise, dtypes, limits, who declared it."""
    domain, _, op = name.rpartition("::")
    found = [row for row in _rows(registry) if row[0] == name]
    if not found:
        raise UsageError(f"there is no operator {name!r}", remedy="trueport ops lists all")
    mapping = registry.find(op, domain)
    row = found[0]
    lines = [row[0], f"  versions: {row[1] or 'no schema'}", f"  fidelity: {row[2]}"]
    if row[3]:
        lines.append(f"  notes: {row[3]}")
    if mapping is not None:
        lines.append(f"  declared in: {mapping.by}")
        lines += [f"  {kind}: {', '.join(sorted(d.name for d in types))}" for kind, types in mapping.dtypes.items()]
        lines += [f"  ignores {attribute}: {why}" for attribute, why in mapping.ignores.items()]
    return "\n".join(lines)
