"""What the target's nodes read in the place of aligned values, where that is something else: a fault on an edge."""

from __future__ import annotations

from trueport.verifying.align.graphs import Node
from trueport.verifying.align.matching import MOVES, Match, Matcher

__all__ = ["exchange_results", "stand_ins"]

_CASTS = frozenset({"Cast", "CastLike"})
_INDICES = frozenset({"int32", "int64", "bool", "text"})


def exchange_results(matcher: Matcher) -> None:
    """Align the results of a node as its readers take them, where all of them take another result of the same node."""
    for node in matcher.source.nodes:
        made = [name for name in node.makes if name in matcher.found]
        if not matcher.same_form or len(made) < 2:
            continue
        now = {name: matcher.found[name].tensor for name in made}
        read = {name: _read_by_all(matcher, name) or tensor for name, tensor in now.items()}
        if read != now and sorted(read.values()) == sorted(now.values()):
            matcher.found.update({name: Match(tensor, None, "structure") for name, tensor in read.items()})


def stand_ins(matcher: Matcher) -> dict[str, str]:
    """Return what all readers of a value read in its place: the result of something that was put behind it."""
    found = {}
    for name in matcher.found if matcher.same_form else ():
        tensor = _read_by_all(matcher, name)
        if tensor is None or tensor not in matcher.target.makers or tensor in matcher.taken:
            continue
        if matcher.shapes_fit(name, tensor) and _is_appended(matcher, name, tensor):
            found[name] = tensor
    return found


def _read_by_all(matcher: Matcher, name: str) -> str | None:
    """The one tensor that the target's nodes read in the place of a value; None where they do not agree."""
    read = [_read_in_place(matcher, name, reader) for reader in matcher.source.readers.get(name, ())]
    return read[0] if read and read == read[:1] * len(read) else None


def _read_in_place(matcher: Matcher, name: str, reader: Node) -> str | None:
    made = next((n for n in reader.makes if n in matcher.found), None)
    other = matcher.target.makers.get(matcher.found[made].tensor) if made is not None else None
    if other is None or other.op != reader.op or len(other.reads) != len(reader.reads):
        return None
    return other.reads[reader.reads.index(name)]


def _is_appended(matcher: Matcher, name: str, tensor: str) -> bool:
    """Whether what lies between is put behind the value's own node, and not before the one that reads it.

    Where names tell, they decide. Else it is what changes data: elements that are moved or cast, and indices that are
    shifted, are read in another way.
    """
    names_tell = _names_tell(matcher)
    if names_tell and (matcher.has_name(name, tensor) or matcher.has_name(name, matcher.found[name].tensor)):
        return matcher.has_name(name, tensor)
    maker = matcher.target.makers[tensor]
    if all(reader.family == maker.family for reader in matcher.source.readers.get(name, ())):
        return False  # what reads it is applied twice
    between = [maker, *matcher.target.between(maker, matcher.taken)]
    changes = any(node.op not in MOVES | _CASTS and _holds_data(matcher, node) for node in between)
    return changes and matcher.source.probes[name].dtype not in _INDICES


def _names_tell(matcher: Matcher) -> bool:
    """Whether most values that are aligned have their names in the target: else a name may be another value's."""
    made = [(name, match) for name, match in matcher.found.items() if name in matcher.source.makers]
    return 2 * sum(matcher.has_name(name, match.tensor) for name, match in made) > len(made)


def _holds_data(matcher: Matcher, node: Node) -> bool:
    """Whether a node makes something else than sizes and indices."""
    probes = [matcher.target.probes[tensor] for tensor in node.makes if tensor in matcher.target.probes]
    return any(probe.dtype not in _INDICES for probe in probes)
