"""All declarations of one target, and the one question both check and convert ask of them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType, ModuleType

import onnx_ir as ir

from trueport.fidelity import BITWISE, UNSUPPORTED, Fidelity, ulps
from trueport.ir.places import NodeLike, op_id, place
from trueport.ir.provenance import location
from trueport.ir.schemas import canonical_schema
from trueport.mapping.bind import input_names
from trueport.mapping.declare import OpMapping, declared_by
from trueport.mapping.needs import NOT_KNOWN
from trueport.operators.record import Kind, Operator, Randomness, Role
from trueport.operators.table import facts

__all__ = ["RECORDS", "Finding", "Reason", "Registry", "build", "build_from_package"]


@dataclass(frozen=True)
class Reason:
    """Why a node is not carried over to the bit."""

    label: str
    because: str
    remedy: str = ""
    effect: Fidelity = UNSUPPORTED


@dataclass(frozen=True)
class Finding:
    """What the target can do with one node."""

    where: str
    op: str
    fidelity: Fidelity
    mapping: OpMapping | None
    reasons: tuple[Reason, ...] = ()
    node: str = ""
    """the node's name"""
    source: str = ""
    """the layer or the line of the program that the node comes from, where that is known"""

    @property
    def undecided(self) -> bool:
        """True if whether the node converts shows only while the target is built."""
        return any(reason.label == NOT_KNOWN for reason in self.reasons)

    def __str__(self) -> str:
        why = "; ".join(reason.because for reason in self.reasons) or self.fidelity.name.lower()
        remedy = "; ".join(reason.remedy for reason in self.reasons if reason.remedy)
        where = f"{self.where}, {self.source}" if self.source else self.where
        return f"{where}: {why}" + (f" → {remedy}" if remedy else "")


class Registry:
    """An immutable set of declarations for one target, one per operator."""

    def __init__(self, target: str, mappings: Mapping[tuple[str, str], OpMapping]) -> None:
        self.target = target
        self._mappings = MappingProxyType(dict(mappings))

    @classmethod
    def of(cls, target: str, mappings: Iterable[OpMapping]) -> Registry:
        """Two claims to one operator are a mistake and raise here."""
        found: dict[tuple[str, str], OpMapping] = {}
        for mapping in mappings:
            if mapping.key in found:
                raise TypeError(
                    f"{mapping.op!r} (domain {mapping.domain!r}) is declared twice: "
                    f"in {found[mapping.key].by} and in {mapping.by}"
                )
            found[mapping.key] = mapping
        return cls(target, found)

    def extended(self, *modules: ModuleType) -> Registry:
        """A new registry in which the user's declarations come before the built-in ones."""
        own = build(self.target, *modules)
        return Registry(self.target, {**self._mappings, **own._mappings})

    def __iter__(self) -> Iterator[OpMapping]:
        return iter(self._mappings.values())

    def __len__(self) -> int:
        return len(self._mappings)

    def find(self, op: str, domain: str = "") -> OpMapping | None:
        """The declaration of an operator, if there is one."""
        return self._mappings.get((domain, op))

    def facts(self, op: str, domain: str = "") -> Operator:
        """Return what is known of an operator: its record, and what a declaration says of it in its place."""
        mapping = self.find(op, domain)
        return facts(op, domain) if mapping is None else _declared_facts(mapping)

    def honours_channels_last(self, node: ir.Node) -> bool:
        """Whether the node's handler also works on channel-last data."""
        mapping = self.find(node.op_type, node.domain)
        return mapping is not None and mapping.channels_last

    def assess(self, node: NodeLike) -> Finding:
        """What the target can do with this node, and why not all of it."""
        mapping = self.find(node.op_type, node.domain)
        if mapping is None:
            return _finding(node, UNSUPPORTED, None, (self._no_mapping(node),))
        reasons = [
            *self._unaudited(node, mapping),
            *_wrong_types(node, mapping),
            *(
                Reason(limit.label, limit.because, limit.remedy, limit.effect)
                for limit in mapping.limits
                if limit.when(node)
            ),
            *(
                Reason(NOT_KNOWN, need.because, need.remedy, mapping.fidelity)
                for need in mapping.needs
                if not need.is_known(node)
            ),
        ]
        if mapping.because:
            reasons.append(Reason(mapping.fidelity.name.lower(), mapping.because, effect=mapping.fidelity))
        worst = max([mapping.fidelity, *(reason.effect for reason in reasons)])
        return _finding(node, worst, mapping, tuple(reasons))

    def _no_mapping(self, node: NodeLike) -> Reason:
        return Reason(
            "no-mapping",
            f"{op_id(node)} has no mapping to {self.target}",
            f'declare it: @maps("{node.op_type}", domain="{node.domain}") in a module given by --ops',
        )

    def _unaudited(self, node: NodeLike, mapping: OpMapping) -> Iterator[Reason]:
        schema = canonical_schema(node.op_type, node.domain)
        if schema and mapping.audited is not None and schema.since_version > mapping.audited:
            yield Reason(
                "unaudited",
                f"{op_id(node)} changed in opset {schema.since_version}; this mapping was compared with "
                f"version {mapping.audited} at most",
                "update trueport, or pin the onnx release that it was made for",
            )


RECORDS = Registry.of("onnx", ())
"""No declarations: of every operator what its record says."""


def _declared_facts(mapping: OpMapping) -> Operator:
    known = facts(mapping.op, mapping.domain)
    return replace(
        known,
        kind=known.kind if known.is_known else Kind.CUSTOM,
        error=None if mapping.fidelity == BITWISE else mapping.error or ulps(1),
        roles=tuple(_role(mapping, known.role(index), name) for index, name in enumerate(input_names(mapping))),
        random=Randomness.ALWAYS if mapping.random else known.random,
    )


def _role(mapping: OpMapping, known: Role, name: str) -> Role:
    if name in mapping.static:
        return known if known.is_parameter else Role.PARAMETER
    return Role.DATA if known.is_parameter else known


def _finding(node: NodeLike, fidelity: Fidelity, mapping: OpMapping | None, reasons: tuple[Reason, ...]) -> Finding:
    return Finding(
        place(node), op_id(node), fidelity, mapping, reasons, node.name or "", _source(node) if reasons else ""
    )


def _source(node: NodeLike) -> str:
    """Looked up only where something is reported: a framework's trace takes time to walk."""
    return location(node) if isinstance(node, ir.Node) else getattr(node, "location", "")


def _wrong_types(node: NodeLike, mapping: OpMapping) -> Iterator[Reason]:
    schema = canonical_schema(node.op_type, node.domain)
    if schema is None or not mapping.dtypes:
        return
    for index, value in enumerate(node.inputs):
        formal = schema.inputs[min(index, len(schema.inputs) - 1)]
        allowed = mapping.dtypes.get(formal.type_str)
        if value is None or allowed is None or value.dtype is None or value.dtype in allowed:
            continue
        yield Reason(
            "dtype",
            f"input {formal.name!r} is {value.dtype.name}, which this mapping does not carry",
            f"it carries {', '.join(sorted(d.name for d in allowed))}",
        )


def build(target: str, *modules: ModuleType) -> Registry:
    """Return the registry of all declarations in ``modules``: those on functions, and tables of `OpMapping`."""
    return Registry.of(target, [mapping for module in modules for mapping in _declared_in(module)])


def _declared_in(module: ModuleType) -> Iterator[OpMapping]:
    for item in vars(module).values():
        if callable(item) and getattr(item, "__module__", None) == module.__name__:
            yield from declared_by(item)
        elif isinstance(item, tuple):
            yield from (row for row in item if isinstance(row, OpMapping) and row.by == module.__name__)


def build_from_package(target: str, package: ModuleType) -> Registry:
    """Return the registry of all declarations in a package's modules, those of its sub-packages included."""
    found = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    return build(target, *(importlib.import_module(name) for name in sorted(m.name for m in found if not m.ispkg)))
