"""What commands say under an install, as text: ``said/NAME.txt`` holds it, one paragraph per command.

Of a command that is refused the whole of stderr is kept; of one that works the first line of stdout, of a comparison
the verdict alone, because the rest has numbers that depend on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["SAID", "Install", "Outcome", "parse", "transcript"]

SAID = Path(__file__).parent / "said"
REFUSED = 2
_VERDICTS = ("faithful", "not faithful")


@dataclass(frozen=True)
class Install:
    """What stands beside the wheel in an environment that was empty."""

    name: str
    extra: str = ""
    packages: tuple[str, ...] = ()
    """distributions that are installed without an extra"""
    brings: frozenset[str] = frozenset()
    """the modules that can be imported then, of those that Trueport looks for"""
    like: str = ""
    """the install under which all commands say the same; empty for one with a text of its own"""

    @property
    def said(self) -> Path:
        return SAID / f"{self.like or self.name}.txt"


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    code: int
    text: str

    @classmethod
    def of(cls, code: int, out: str, err: str) -> Outcome:
        line = out.strip().partition("\n")[0]
        verdict = line.partition(":")[0]
        return cls(code, err.strip() if code == REFUSED else verdict if verdict in _VERDICTS else line)


def transcript(commands: Iterable[str], run: Callable[[str], Outcome]) -> str:
    """Run each command; return all of them with what they said."""
    paragraphs = []
    for command in commands:
        outcome = run(command)
        paragraphs.append(f"$ trueport {command}\n{outcome.text}\nexit {outcome.code}\n")
    return "\n".join(paragraphs)


def parse(text: str) -> Mapping[str, Outcome]:
    """Return the outcomes in a transcript by command."""
    found = {}
    for paragraph in text.split("\n$ trueport "):
        lines = paragraph.removeprefix("$ trueport ").strip().splitlines()
        found[lines[0]] = Outcome(int(lines[-1].removeprefix("exit ")), "\n".join(lines[1:-1]))
    return found
