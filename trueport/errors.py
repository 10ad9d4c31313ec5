"""Every error Trueport raises on purpose.

    TrueportError
    ├── InvalidModel          the source is not a model we can read (broken file, bad graph, unsafe path)
    │   └── Untrusted         the source would run code or touch files: it is read with trust=True (--trust) only
    ├── ConversionError       a valid model that cannot be carried over as asked
    │   ├── Unsupported       one or more nodes have no faithful form in the target (all of them at once)
    │   └── EmitError         a handler failed on a node it claimed to support: a defect of ours or of a user's op
    ├── NoOracle              a node can't be evaluated in float64: verification goes on without a truth, and says so
    ├── InvalidInput          run time: a missing input, a wrong name, rank or dtype
    ├── RunFailed             a model fails on its inputs; in a process of its own it died, or took too long or too much
    ├── OutputExists          the place to write to is taken
    ├── WriteFailed           the output can't be written: a full disk, a read-only folder, a limit of the system
    ├── MissingDependency     a framework that this step needs is not installed
    └── UsageError            the call itself is wrong (unknown target, unknown option value)

Each carries *where* it happened, *why*, and *what to do*: ``str(error)`` shows the three.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trueport.mapping.registry import Finding

__all__ = [
    "ConversionError",
    "EmitError",
    "InvalidInput",
    "InvalidModel",
    "MissingDependency",
    "NoOracle",
    "OutputExists",
    "RunFailed",
    "TrueportError",
    "Unsupported",
    "Untrusted",
    "UsageError",
    "WriteFailed",
]


class TrueportError(Exception):
    """Base of all: a place, a reason and a remedy."""

    def __init__(self, why: str, *, where: str = "", remedy: str = "") -> None:
        self.why = why
        self.where = where
        self.remedy = remedy
        super().__init__(why, where, remedy)

    def __str__(self) -> str:
        head = f"{self.where}: {self.why}" if self.where else self.why
        return f"{head}\n  → {self.remedy}" if self.remedy else head


class InvalidModel(TrueportError):
    """The source is not a model that can be read."""


class Untrusted(InvalidModel):
    """The source would run code or touch files, processes or the network, and nobody said that it may."""


class ConversionError(TrueportError):
    """A valid model that cannot be carried over as asked."""


class Unsupported(ConversionError):
    """All nodes that have no faithful form in the target."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        count = len(self.findings)
        lines = [f"  {finding}" for finding in self.findings]
        super().__init__(
            "\n".join([f"{count} node{'s' * (count != 1)} cannot be converted:", *lines]),
            remedy="nothing was written; declare the operator with @maps (--ops FILE), or replace the node "
            "with trueport.surgery",
        )


class EmitError(ConversionError):
    """A handler failed on a node that its declaration accepts."""


class NoOracle(TrueportError):
    """A node that can't be evaluated in float64."""


class InvalidInput(TrueportError):
    """What was fed to a model does not fit its inputs."""


class RunFailed(TrueportError):
    """A model fails on its inputs; one in a process of its own died, or went beyond its limits."""


class OutputExists(TrueportError):
    """The output path is taken, and may not be overwritten."""


class WriteFailed(TrueportError):
    """The output can't be written: a full disk, a read-only folder, a name that is too long."""


class MissingDependency(TrueportError):
    """A framework that this step needs is not installed."""

    def __init__(self, step: str, packages: Sequence[str], extras: Sequence[str], instead: str = "") -> None:
        """``instead`` says how to do without the packages; empty where that is not possible."""
        listed = " and ".join(filter(None, [", ".join(packages[:-1]), packages[-1]]))
        install = f"pip install 'trueport[{','.join(extras)}]'"
        super().__init__(
            f"{step} needs {listed}, which {'is' if len(packages) == 1 else 'are'} not installed",
            remedy=f"{install}, or {instead}" if instead else install,
        )

    def __str__(self) -> str:
        return f"{self.why}: {self.remedy}"  # on one line, unlike other errors: there is no place to name


class UsageError(TrueportError):
    """The call itself is wrong."""
