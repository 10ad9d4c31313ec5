"""Both models on the same inputs, judged against the float64 truth and the source's own noise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from trueport.errors import NoOracle, TrueportError
from trueport.fidelity import Verdict
from trueport.runtimes.base import Model
from trueport.verifying.judge import DEFAULT_K, Judgement, judge
from trueport.verifying.oracle import Oracle
from trueport.verifying.plain import compare_outputs

__all__ = ["Verification", "verify_runs"]

Feeds = Mapping[str, Any]


@dataclass(frozen=True)
class Verification:
    """What a verification found; frozen data, rendered elsewhere."""

    source_runtime: str
    target_runtime: str
    oracle: str
    """what the truth was, or why there was none"""
    k: float
    samples: int
    rejected: int
    """inputs that the source itself does not take"""
    outputs: tuple[Judgement, ...]
    skipped: str = ""
    hints: tuple[str, ...] = ()
    """other ways to feed the target with which it would agree"""

    @property
    def verdict(self) -> Verdict | None:
        if self.skipped or not self.outputs:
            return None
        departs = any(output.verdict == Verdict.DEPARTS for output in self.outputs)
        return Verdict.DEPARTS if departs else Verdict.FAITHFUL

    def to_json(self) -> dict[str, Any]:
        data = asdict(self)
        for output in data["outputs"]:
            output["verdict"] = output["verdict"].value
            output["ratio"] = output["ratio"] if output["ratio"] != float("inf") else "inf"
        return {"verdict": self.verdict.value if self.verdict else None, **data}

    def __str__(self) -> str:
        if self.skipped:
            return f"not compared: {self.skipped}"
        worst = max(self.outputs, key=lambda output: output.ratio, default=None)
        detail = f"; worst output {worst.name!r}: {worst.why}" if worst else ""
        verdict = self.verdict.value if self.verdict else "no outputs"
        return (
            f"{verdict} ({self.samples} inputs, {self.source_runtime} against {self.target_runtime}, "
            f"truth: {self.oracle}{detail}; up to {self.k:g} × counts as faithful)"
        )


def verify_runs(
    source: Sequence[Model],
    target: Model,
    samples: Iterable[Feeds],
    oracle: Oracle | str,
    *,
    k: float = DEFAULT_K,
    allowed_ulps: float = 0.0,
    random: bool = False,
) -> Verification:
    """Judge the target on every sample and keep the worst of each output.

    ``source`` holds equivalent executions of the source, the plain one first. Without an oracle (a string says why)
    floats are compared with the source by ``allowed_ulps``, the declared bounds added up.
    """
    worst: dict[str, Judgement] = {}
    compared = rejected = 0
    why_not = oracle if isinstance(oracle, str) else ""
    for feeds in samples:
        runs = _source_runs(source, feeds)
        if not runs:
            rejected += 1
            continue
        got = target.run(feeds)
        truth: dict[str, Any] | None = None
        noisy: list[dict[str, Any]] = []
        if not isinstance(oracle, str) and not why_not:
            try:
                truth, noisy = oracle.run(feeds)
            except NoOracle as error:
                why_not = f"none: {error}"
        compared += 1
        for name in runs[0]:
            if truth is None or random:
                plain = compare_outputs(name, runs[0][name], got[name], allowed_ulps, shapes_only=random)
                found = Judgement(name, plain.verdict, plain.needed_ulps / max(plain.allowed_ulps, 1e-30), plain.why)
            else:
                found = judge(
                    name, [run[name] for run in runs], got[name], truth[name], [run[name] for run in noisy], k=k
                )
            if name not in worst or _badness(found) > _badness(worst[name]):
                worst[name] = found
    skipped = "" if compared else f"the source rejects all {rejected} inputs"
    truth_name = why_not or (oracle if isinstance(oracle, str) else oracle.name)
    return Verification(
        source[0].runtime, target.runtime, truth_name, k, compared, rejected, tuple(worst.values()), skipped
    )


def _badness(found: Judgement) -> tuple[bool, float]:
    return found.verdict == Verdict.DEPARTS, found.ratio


def _source_runs(source: Sequence[Model], feeds: Feeds) -> list[dict[str, Any]]:
    """The source's executions that take these inputs; none when the plain one does not."""
    runs: list[dict[str, Any]] = []
    for model in source:
        try:
            runs.append(model.run(feeds))
        except TrueportError:
            raise
        except Exception:  # any runtime's own error type: an input, or a setting, that it can't take
            if not runs:
                return []
    return runs
