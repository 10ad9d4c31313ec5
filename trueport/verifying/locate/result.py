"""What locating finds: the walk along the graph, the first node that departs by itself, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trueport.reference.walk import NodeCase
from trueport.runtimes.base import Model
from trueport.verifying.judge.output import DEFAULT_K, Judgement
from trueport.verifying.wording import describe_error, label, multiple

__all__ = ["Alignment", "Cause", "Culprit", "Located", "Part", "Step"]


@dataclass(frozen=True)
class Step:
    """One aligned value: the error it shows at the end of everything before it, and what its own node adds."""

    value: str
    node: str
    op: str
    ratio: float
    error: float
    """largest distance from the truth"""
    floor: float
    """largest distance that rounding explains"""
    own: float | None = None
    """largest distance from the truth where the target's part is fed the source's inputs; None where not asked"""
    own_ratio: float | None = None
    target_value: str = ""
    target_node: str = ""
    origin: tuple[str, ...] = ()
    """the layer or the line of code that the node comes from, where the source says so"""
    snr_db: float | None = None
    """signal to noise of the target against the source; None without noise, and for what holds no numbers"""
    histogram: Mapping[int, int] = field(default_factory=dict)
    """integers: how many elements differ by how many units"""


@dataclass(frozen=True, repr=False)
class Part:
    """What makes the value that departs, in both models: what goes in, what comes out, what should."""

    value: str
    given: Mapping[str, Any]
    """by the source's names, as a runtime gave them"""
    ports: Mapping[str, str]
    """which of them are inputs of the model: their names as such"""
    result: Any
    """what the source makes of it"""
    truth: Any
    noisy: tuple[Any, ...]
    source: Model
    target: Model
    """whose inner values stand under the source's names"""
    target_result: Any = None
    """what the target makes of it"""


@dataclass(frozen=True)
class Cause:
    """An explanation with its evidence."""

    kind: str
    """a class of causes: ``attribute``, ``weight``, ``dtype``, ``layout``, ``rounding`` …"""
    what: str
    evidence: str

    def __str__(self) -> str:
        return f"{self.what} ({self.evidence})"


@dataclass(frozen=True, repr=False)
class Culprit:
    """The first node that departs by itself."""

    value: str
    node: str
    op: str
    origin: tuple[str, ...]
    own: Judgement
    inherited: float
    """the ratio of the worst of its inputs"""
    end_to_end: Judgement
    causes: tuple[Cause, ...] = ()
    """what would explain it, most likely first"""
    case: NodeCase | None = field(default=None, repr=False)
    cases: tuple[NodeCase, ...] = field(default=(), repr=False)
    """all nodes that it may be, where the target has no value between them; ``case`` is the one that is named"""
    target_value: str = ""
    target_node: str = ""
    part: Part | None = field(default=None, repr=False, compare=False)
    within: tuple[str, ...] = ()
    """other nodes of the source that the target can't be looked into between"""
    misread: tuple[Any, ...] = field(default=(), repr=False, compare=False)
    """hypotheses of the source's own framework, with a case to try them on"""
    again: Callable[[int], Sequence[NodeCase]] | None = field(default=None, repr=False, compare=False)
    """the cases on other inputs, by the number of a draw: what explains the numbers must explain those as well"""
    iteration: int | None = None
    """the step of a loop, counted from 0, at which its body first departs"""
    inside: Culprit | None = None
    """the node in the body of a loop, or in the branch of an If, where both models' bodies could be run"""

    def __str__(self) -> str:
        target = f", in the target {label(self.target_node)!r}" if self.target_node else ""
        cause = self.causes[0].what if self.causes else "unknown"
        return f"first at {self.op} node {label(self.node or self.value)!r}{target}; cause: {cause}"


@dataclass(frozen=True)
class Alignment:
    """How values of the two models were matched."""

    by_name: int = 0
    by_structure: int = 0
    by_values: int = 0

    @property
    def total(self) -> int:
        return self.by_name + self.by_structure + self.by_values

    def __str__(self) -> str:
        return f"{self.by_name} by name, {self.by_structure} by structure, {self.by_values} by values"


@dataclass(frozen=True, repr=False)
class Located:
    """The walk along the graph, and where it found the first departure."""

    steps: tuple[Step, ...]
    culprit: Culprit | None
    aligned: int
    values: int
    """of the source's inner values, so many were found in the target"""
    k: float = DEFAULT_K
    why: str = ""
    feeds: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """the inputs on which it was found"""
    alignment: Alignment = Alignment()
    departs: bool = False
    """whether the models differ by more than rounding explains, be there a single node to blame or not"""
    precision_change: str = ""
    """how the target's lower precision explains what differs, if that is the verdict"""
    reproducer: str = ""
    """what was written to show it: where, how large, whether it shows it by itself"""

    @property
    def headline(self) -> str:
        """The verdict and the error that decides it, in one line."""
        if self.culprit is not None:
            return f"not faithful: {describe_error(self.culprit.own, self.k)}"
        if self.departs:
            return f"not faithful: {self.why}"
        if self.precision_change:
            return self.precision_change
        largest = max((step.ratio for step in self.steps), default=None)
        if largest is None or largest > self.k:  # what is aligned by a guess does not count
            return "faithful: the outputs are within normal rounding"
        return f"faithful: error is at most {multiple(largest)} normal rounding (limit {self.k:g} ×)"

    def __str__(self) -> str:
        return f"{self.headline}; {self.culprit}" if self.culprit else self.headline

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"
