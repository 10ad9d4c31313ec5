"""How one operator is declared: a handler whose signature is the schema, and the promise it makes.

    @maps("LeakyRelu", fidelity=EXACT, error=ulps(1))
    def leaky_relu(t, X, *, alpha):
        return tf.nn.leaky_relu(X, alpha)

A declaration is a frozen value on the function. Nothing is registered by importing a module: a registry
is built from modules by :func:`trueport.mapping.registry.build`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import onnx_ir as ir

from trueport.fidelity import EXACT, UNSUPPORTED, ErrorBound, Fidelity, Limit, ulps
from trueport.ir.schemas import canonical_schema
from trueport.mapping.needs import Need
from trueport.operators.record import Operator, Randomness, Role
from trueport.operators.table import facts

__all__ = ["Handler", "OpMapping", "declared_by", "maps"]

Handler = Callable[..., Any]
_H = TypeVar("_H", bound=Handler)
_ATTRIBUTE = "__trueport_mappings__"


@dataclass(frozen=True)
class OpMapping:
    """One operator in one direction, and what its translation promises."""

    op: str
    domain: str
    handler: Handler
    fidelity: Fidelity
    error: ErrorBound | None
    audited: int | None
    """the newest version of the operator that was compared with this handler; newer ones are not trusted"""
    dtypes: Mapping[str, frozenset[ir.DataType]] = field(default_factory=dict)
    """per type parameter of the schema; one that is not named takes all that the schema allows"""
    limits: tuple[Limit, ...] = ()
    needs: tuple[Need, ...] = ()
    """facts that may show only while the target is built"""
    ignores: Mapping[str, str] = field(default_factory=dict)
    """attributes and inputs that the handler does not take, each with the reason why that loses nothing"""
    static: frozenset[str] = frozenset()
    """inputs that are parameters, not weights: kept as constants when the model has them as constants"""
    state: frozenset[str] = frozenset()
    """inputs that are weights but not trained (running statistics)"""
    reordered: frozenset[str] = frozenset()
    """weights that the handler takes by ``t.weight`` alone: bound as shape and dtype, stored as it asks for them"""
    channels_last: bool = False
    """the handler also works on channel-last data (it asks ``t.channels_last``)"""
    random: bool = False
    """values depend on the runtime's generator and can't equal another runtime's"""
    kept: bool = False
    """the operator stays in the graph though its inputs are constants: folding it would lose what it stands for"""
    because: str = ""
    """why it is only approximate or lossy"""
    reference: Handler | None = None
    """the operator in NumPy, ``reference(*inputs, **attributes)``: lets a custom operator's source be run"""
    by: str = "trueport"
    """who declared it: Trueport, or the user's module"""

    def __post_init__(self) -> None:
        if self.fidelity > EXACT and not self.because:
            raise TypeError(f"@maps({self.op!r}): {self.fidelity.name} needs because=…")
        if self.fidelity == UNSUPPORTED:
            raise TypeError(f"@maps({self.op!r}): leave an unsupported operator undeclared")

    @property
    def key(self) -> tuple[str, str]:
        return self.domain, self.op


def maps(
    op: str,
    *,
    domain: str = "",
    fidelity: Fidelity = EXACT,
    error: ErrorBound | None = None,
    audited: int | None = None,
    dtypes: Mapping[str, Collection[ir.DataType]] | None = None,
    limits: Iterable[Limit] = (),
    needs: Iterable[Need] = (),
    ignores: Mapping[str, str] | None = None,
    static: Iterable[str] | None = None,
    state: Iterable[str] | None = None,
    reordered: Iterable[str] = (),
    channels_last: bool = False,
    random: bool | None = None,
    kept: bool = False,
    because: str = "",
    reference: Handler | None = None,
) -> Callable[[_H], _H]:
    """Declare that the decorated handler translates ``op``; may be stacked for operators that share one.

    ``error``, ``static``, ``state`` and ``random`` are those of the operator's record where they are not given.
    """
    known = facts(op, domain)

    def declare(handler: _H) -> _H:
        mapping = OpMapping(
            op=op,
            domain=domain,
            handler=handler,
            fidelity=fidelity,
            error=error if error or fidelity != EXACT else known.error or ulps(0 if known.is_known else 1),
            audited=audited,
            dtypes={name: frozenset(types) for name, types in (dtypes or {}).items()},
            limits=tuple(limits),
            needs=tuple(needs),
            ignores=dict(ignores or {}),
            static=frozenset(_inputs(known, lambda role: role.is_parameter) if static is None else static),
            state=frozenset(_inputs(known, lambda role: role is Role.STATE) if state is None else state),
            reordered=frozenset(reordered),
            channels_last=channels_last,
            random=known.random is Randomness.ALWAYS if random is None else random,
            kept=kept,
            because=because,
            reference=reference,
            by=handler.__module__,
        )
        setattr(handler, _ATTRIBUTE, (*declared_by(handler), mapping))
        return handler

    return declare


def _inputs(operator: Operator, is_meant: Callable[[Role], bool]) -> Iterator[str]:
    """Yield the names of the inputs that have such a role."""
    schema = canonical_schema(operator.name, operator.domain) if operator.roles else None
    for index, formal in enumerate(schema.inputs if schema is not None else ()):
        if is_meant(operator.role(index)):
            yield formal.name


def declared_by(handler: object) -> tuple[OpMapping, ...]:
    """The declarations a function carries (none for an ordinary function)."""
    return getattr(handler, _ATTRIBUTE, ())
