"""Which value of the target is which of the source's: by facts first, names only to choose among what fits.

In this order: values with the same numbers, of the same kind of operator, made of the same values; then, where numbers
differ because one of them is wrong, what the same kind of operator makes of aligned values; then what aligned
operations read; then names and the order of the graph, among what is left.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from trueport.operators.record import Trait
from trueport.operators.table import with_trait
from trueport.verifying.align.fingerprints import orders
from trueport.verifying.align.graphs import Graph, Node
from trueport.verifying.align.probes import Agreement, agreement

__all__ = ["MOVES", "Match", "Matcher"]

MOVES = frozenset(known.name for known in with_trait(Trait.SAME_NUMBERS))
"""Operators of ONNX and TensorFlow, which have these names in common."""
_LEVELS = (3, 2, 1)
_ROUNDS = 4


@dataclass(frozen=True)
class Match:
    """A value of the target that stands for one of the source."""

    tensor: str
    perm: tuple[int, ...] | None = None
    by: str = "values"
    """``values``, ``structure`` or ``name``: what told"""


@dataclass
class Matcher:
    """Aligns two graphs."""

    source: Graph
    target: Graph
    same_form: bool
    """whether both are models of one framework: values have the same shapes and types, and the same order of axes"""
    names: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """the names, as the source may have them, of the target's tensors"""
    found: dict[str, Match] = field(default_factory=dict)
    """by the source's names; inputs and outputs of the models are there from the beginning"""

    def run(self) -> dict[str, Match]:
        """Align what can be."""
        self.taken: dict[str, list[str]] = {}
        for name, match in self.found.items():
            self.taken.setdefault(match.tensor, []).append(name)
        self._sequence = self._same_positions()
        for level in _LEVELS:
            self._by_numbers(level, shared=False)
        for _ in range(_ROUNDS):
            before = len(self.found)
            self._by_structure(strict=True)
            self._by_use()
            self._fused()
            if len(self.found) == before:
                break
        self._by_numbers(_LEVELS[1], shared=True)
        self._leftover()
        self._by_structure(strict=False)
        self._by_use()
        return self.found

    def is_certain(self, name: str) -> bool:
        """True if a value is made by the same operator, of the same values, in either model."""
        if not self.same_form or name not in self.found:
            return False
        mine, theirs = self.source.makers.get(name), self.target.makers.get(self.found[name].tensor)
        if mine is None or theirs is None or mine.op != theirs.op or len(mine.reads) != len(theirs.reads):
            return False
        return mine.makes.index(name) == theirs.makes.index(self.found[name].tensor) and all(
            read in self.found and self.found[read].tensor == other
            for read, other in zip(mine.reads, theirs.reads, strict=True)
        )

    # Facts of one pair.

    def _agreement(self, name: str, tensor: str) -> Agreement:
        mine, theirs = self.source.probes.get(name), self.target.probes.get(tensor)
        return Agreement(0) if mine is None or theirs is None else agreement(mine, theirs, same_form=self.same_form)

    def _kinship(self, name: str, tensor: str) -> int:
        """2: of the same operator, 1: of the same family, 0: of another."""
        mine, theirs = self.source.makers.get(name), self.target.makers.get(tensor)
        if mine is None or theirs is None or mine.family != theirs.family:
            return 0
        return 1 + (mine.op == theirs.op)

    def _position(self, name: str, tensor: str) -> bool:
        """Whether both are the same result of what makes them."""
        mine, theirs = self.source.makers.get(name), self.target.makers.get(tensor)
        if mine is None or theirs is None:
            return False
        return mine.makes.index(name) == theirs.makes.index(tensor)

    def _made_of(self, name: str, tensor: str) -> int:
        """2: of the same values in the same order, 1: of the same values, 0: of others."""
        mine, theirs = self._behind(name), self._behind_target(tensor)
        return 2 if mine == theirs else int(set(mine) == set(theirs))

    def _behind(self, name: str) -> tuple[str, ...]:
        if name not in self.source.makers:
            return ()
        known = self.source.nearest(self.source.makers[name], self.found)
        return tuple(dict.fromkeys(self.found[n].tensor for n in known))

    def _behind_target(self, tensor: str) -> tuple[str, ...]:
        if tensor not in self.target.makers:
            return ()
        return self.target.nearest(self.target.makers[tensor], self.taken)

    def _used_alike(self, name: str, tensor: str) -> int:
        """How many readers agree, those with the same numbers twice."""
        return sum(
            max((self._readers_agree(r, u) for u in self.target.readers.get(tensor, ())), default=0)
            for r in self.source.readers.get(name, ())
        )

    def _readers_agree(self, reader: Node, user: Node) -> int:
        if reader.family != user.family or not reader.makes or not user.makes:
            return 0
        mine, theirs = self.source.probes.get(reader.makes[0]), self.target.probes.get(user.makes[0])
        if mine is None or theirs is None or mine.mark is None or theirs.mark is None:
            return 1
        return 1 + mine.mark.near(theirs.mark)

    def _weights_agree(self, name: str, tensor: str) -> int:
        """How many constant operands are equal, at the same positions."""
        if not self.same_form:
            return 0
        pairs = zip(self.source.makers[name].weights(), self.target.makers[tensor].weights(), strict=False)
        return sum(a.shape == b.shape and bool(np.array_equal(a, b)) for a, b in pairs)

    def shapes_fit(self, name: str, tensor: str) -> bool:
        mine, theirs = self.source.probes.get(name), self.target.probes.get(tensor)
        if mine is None or theirs is None:
            return False
        if mine.failed or theirs.failed:
            return True
        return mine.shape == theirs.shape or (not self.same_form and sorted(mine.shape) == sorted(theirs.shape))

    def has_name(self, name: str, tensor: str) -> bool:
        return name in self.names.get(tensor, ())

    def _in_sequence(self, name: str, tensor: str) -> bool:
        """Whether both nodes have the same position, as a comparison of the lists of operators sees it."""
        mine, theirs = self.source.makers.get(name), self.target.makers.get(tensor)
        return mine is not None and theirs is not None and self._sequence.get(mine.index) == theirs.index

    def _same_positions(self) -> dict[int, int]:
        if not self.same_form:
            return {}
        mine, theirs = ([node.family for node in graph.nodes] for graph in (self.source, self.target))
        blocks = difflib.SequenceMatcher(None, mine, theirs, autojunk=False).get_matching_blocks()
        return {b.a + i: b.b + i for b in blocks for i in range(b.size)}

    # Steps.

    def _add(self, name: str, tensor: str, by: str, perm: tuple[int, ...] | None = None) -> None:
        if by == "structure" and self.has_name(name, tensor):
            by = "name"
        self.found[name] = Match(tensor, perm, by)
        self.taken.setdefault(tensor, []).append(name)

    def _open(self) -> Iterator[str]:
        """Values of the source that are not aligned, in their order."""
        for node in self.source.nodes:
            for name in node.makes:
                if name in self.source.probes and name not in self.found:
                    yield name

    def _free(self) -> list[str]:
        """Tensors of the target that stand for nothing yet, in their order."""
        made = (tensor for node in self.target.nodes for tensor in node.makes)
        return [tensor for tensor in made if tensor in self.target.probes and tensor not in self.taken]

    def _by_numbers(self, level: int, *, shared: bool) -> None:
        """The same numbers up to a level; of several candidates the one that fits best in every other way.

        ``shared``: a tensor that stands for another value as well, of which this one is only moved.
        """
        marked: dict[tuple[int, ...], list[str]] = {}
        for node in self.target.nodes:
            for tensor in node.makes:
                probe = self.target.probes.get(tensor)
                if probe is not None and probe.mark is not None:
                    marked.setdefault(tuple(sorted(probe.shape)), []).append(tensor)
        for name in list(self._open()):
            mark = self.source.probes[name].mark
            if mark is None:
                continue
            near = [
                t
                for t in marked.get(tuple(sorted(mark.shape)), ())
                if (t in self.taken) == shared and self._may_be(name, t)
            ]
            agreeing = {t: found for t in near if (found := self._agreement(name, t)).level >= level}
            kin = [t for t in agreeing if level > 1 or not self.same_form or self._kinship(name, t)]
            best = self._best(kin, lambda t, name=name: self._likeness(name, t))  # type: ignore[misc]
            if best is not None:
                self._add(name, best, "name" if self.has_name(name, best) else "values", agreeing[best].perm)

    def _may_be(self, name: str, tensor: str) -> bool:
        """Whether the numbers may be the same, and the tensor is free; a value that was only moved may share it."""
        if self.same_form and self._kinship(name, tensor) == 2:
            turned = any(self.found[n].perm for n in self.source.makers[name].reads if n in self.found)
            shapes = self.source.probes[name].shape, self.target.probes[tensor].shape
            # The same operator in another order of axes is a fault, unless what it reads is in another order.
            if not self._position(name, tensor) or (shapes[0] != shapes[1] and not turned):
                return False
        mine, theirs = self.source.probes[name].mark, self.target.probes[tensor].mark
        if mine is None or theirs is None or not mine.near(theirs):
            return False
        behind = (self.found[n].tensor for n in self.source.nearest(self.source.makers[name], self.found))
        if self.target.order(tensor) < max((self.target.order(t) for t in behind), default=-1):
            return False
        return tensor not in self.taken or self.source.makers[name].op in MOVES

    def _likeness(self, name: str, tensor: str) -> tuple[int, ...]:
        return (
            self._kinship(name, tensor) > 0,
            self._made_of(name, tensor),
            self._kinship(name, tensor),
            self._position(name, tensor),
            self._used_alike(name, tensor),
            self._weights_agree(name, tensor) if self._kinship(name, tensor) else 0,
            self.has_name(name, tensor),
            self._in_sequence(name, tensor),
            -self.target.order(tensor),
        )

    def _best(self, tensors: Iterable[str], score: Callable[[str], tuple[int, ...]]) -> str | None:
        listed = list(tensors)
        return max(listed, key=score) if len(listed) > 1 else listed[0] if listed else None

    def _by_structure(self, *, strict: bool) -> None:
        """What the same kind of operator makes of the same values; ``strict``: and what is read by the same kinds."""
        free = self._free()
        for name in list(self._open()):
            node = self.source.makers[name]
            fitting = [t for t in free if self._kinship(name, t) and self._follows(name, t)]
            if strict and len(node.makes) == 1:  # of several results each has its position
                fitting = [t for t in fitting if self._read_alike(name, t)]
            for agrees in (self._position, self.shapes_fit, self._as_deep):
                fitting = [t for t in fitting if agrees(name, t)] or (fitting if self.same_form else [])
            if len(fitting) > 1:
                scores = {t: self._tie_break(name, t) for t in fitting}
                best = max(scores.values())
                fitting = [t for t in fitting if scores[t] == best]
            if len(fitting) == 1 or (fitting and self.same_form):
                self._add(name, fitting[0], "structure", self._likely_order(node, name, fitting[0]))
                free.remove(fitting[0])

    def _follows(self, name: str, tensor: str) -> bool:
        return self._behind_target(tensor) == self._behind(name) or (
            not self.same_form and self._made_of(name, tensor) > 0
        )

    def _read_alike(self, name: str, tensor: str) -> bool:
        """Whether the same kinds of operators read both; one that the other model has none of may be a fused one."""
        mine, theirs = self.source.uses(name), self.target.uses(tensor)
        if not self.same_form or mine == theirs:
            return True
        foreign = {node.family for node in self.target.nodes} - {node.family for node in self.source.nodes}
        return bool(foreign & set(theirs))

    def _as_deep(self, name: str, tensor: str) -> bool:
        """Whether as many of the same kind lie between it and the nearest aligned values."""
        mine, theirs = self.source.makers[name], self.target.makers[tensor]
        counts = [
            sum(other.family == node.family for other in graph.between(node, known))
            for graph, node, known in ((self.source, mine, self.found), (self.target, theirs, self.taken))
        ]
        return counts[0] == counts[1]

    def _tie_break(self, name: str, tensor: str) -> tuple[int, ...]:
        return (
            self._kinship(name, tensor),
            self._weights_agree(name, tensor),
            self._used_alike(name, tensor),
            self._agreement(name, tensor).level,
            self.has_name(name, tensor),
            self._in_sequence(name, tensor),
        )

    def _likely_order(self, node: Node, name: str, tensor: str) -> tuple[int, ...] | None:
        """That of what it is made from, where it fits; else the first that does."""
        if self.same_form:
            return None
        mine, theirs = self.source.probes[name], self.target.probes[tensor]
        fitting = list(orders(mine.shape, theirs.shape))
        behind = [n for n in self.source.nearest(node, self.found) if n in self.source.probes]
        before = [self.found[n].perm or tuple(range(len(self.source.probes[n].shape))) for n in behind]
        chosen = next((perm for perm in before if perm in fitting), fitting[0] if fitting else None)
        return None if chosen is None or chosen == tuple(range(len(chosen))) else chosen

    def _by_use(self) -> None:
        """What aligned operations of one kind read at the same positions."""
        if not self.same_form:
            return
        for node in reversed(self.source.nodes):
            made = next((n for n in node.makes if n in self.found), None)
            other = self.target.makers.get(self.found[made].tensor) if made is not None else None
            if other is None or other.family != node.family or len(other.reads) != len(node.reads):
                continue
            for read, tensor in zip(node.reads, other.reads, strict=True):
                if read not in self.found and read in self.source.probes and self._may_stand(read, tensor):
                    self._add(read, tensor, "structure")

    def _may_stand(self, read: str, tensor: str) -> bool:
        """Whether a tensor that is read in the place of a value may be it: a replaced operator, or one left out."""
        theirs = self.target.probes.get(tensor)
        if self._kinship(read, tensor) == 2 and not self._position(read, tensor):
            return False
        if theirs is None or not self.shapes_fit(read, tensor) or tensor not in self.target.makers:
            return self._kinship(read, tensor) > 0 and tensor not in self.taken and theirs is not None
        if tensor not in self.taken:
            return True
        # The node is left out if it reads that very value, and nothing else in the target may be it.
        reads = self.source.makers[read].reads
        behind = any(n in reads for n in self.taken[tensor])
        return behind and not any(self._kinship(read, t) and self._follows(read, t) for t in self._free())

    def _fused(self) -> None:
        """One operation in the place of several, of whose kinds it is one; its result is that of the last of them."""
        if not self.same_form:
            return
        known = {node.family for node in self.source.nodes}
        for tensor in self._free():
            maker = self.target.makers[tensor]
            behind, uses = set(self._behind_target(tensor)), self.target.uses(tensor)
            fitting = []
            for name in self._open():
                node = self.source.makers[name]
                chain = {other.family for other in self.source.between(node, self.found)} | {node.family}
                kind = maker.family in chain or maker.family not in known
                if kind and self.shapes_fit(name, tensor) and set(self._behind(name)) == behind:
                    fitting += [name] if self.source.uses(name) == uses else []
            if len(fitting) == 1:
                self._add(fitting[0], tensor, "structure")

    def _leftover(self) -> None:
        """Names, then the order of the graph, among what is left and of the same kind and shape."""
        for agrees in (self.has_name, self._in_sequence):
            free = self._free()
            for name in list(self._open()):
                fitting = [t for t in free if agrees(name, t) and self._kinship(name, t) and self.shapes_fit(name, t)]
                if len(fitting) == 1:
                    self._add(name, fitting[0], "name", self._likely_order(self.source.makers[name], name, fitting[0]))
                    free.remove(fitting[0])
