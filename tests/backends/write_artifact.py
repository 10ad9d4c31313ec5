"""Drive the writer alone: ``python write_artifact.py READY OUTPUT TARGET [--overwrite]`` copies a ready artifact.

READY is a folder with one output and its companions. No framework is imported, so that a crash test can start this
for every system call.
"""

from __future__ import annotations

import sys
from pathlib import Path

from trueport.backends.writing.claim import claimed, write_failures_named
from trueport.errors import TrueportError

__all__ = ["write"]


def write(ready: Path, output: Path, target: str, *, overwrite: bool) -> None:
    """Write what stands in the folder ``ready`` to ``output``; its main part has the same name."""
    with (
        claimed(output, target, overwrite=overwrite) as claim,
        claim.written_aside() as fresh,
        write_failures_named(output),
    ):
        for item in sorted(ready.rglob("*")):
            place = fresh.parent / item.relative_to(ready)
            if item.is_dir():
                place.mkdir()
            else:
                place.write_bytes(item.read_bytes())


if __name__ == "__main__":
    try:
        write(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], overwrite="--overwrite" in sys.argv)
    except TrueportError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
