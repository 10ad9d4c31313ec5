"""The table of README.md: sets of versions, and what was seen in each."""

from __future__ import annotations

from collections.abc import Sequence

from tests.versions.environments import SHOWN
from tests.versions.results import Row
from tests.versions.sets import PARTS

__all__ = ["COLUMNS", "READ", "WRITTEN", "table"]

READ, WRITTEN = "SavedModels read", "SavedModels written"
COLUMNS = (*(part.name for part in PARTS), READ, WRITTEN)


def table(rows: Sequence[Row]) -> str:
    """Return Markdown: versions and tests by set, the commit at which they were seen, and the sets that pip refuses."""
    seen = [row for row in rows if row.versions and not row.conflict]
    lines = [f"| set | Python | {' | '.join(SHOWN)} |", "| --- |" + " --- |" * (1 + len(SHOWN))]
    for row in seen:
        lines.append(f"| {row.set.name} | {' | '.join(row.versions[name] for name in ('python', *SHOWN))} |")
    lines += ["", f"| tests | {' | '.join(row.set.name for row in seen)} |", "| --- |" + " --- |" * len(seen)]
    for name in COLUMNS:
        cells = [str(row.cells[name]) if name in row.cells else "" for row in seen]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += ["", _commits(seen)]
    refused = [row for row in rows if row.conflict]
    if refused:
        lines += ["", "| refused by pip | why |", "| --- | --- |"]
        lines += [f"| {row.set.name}, Python {row.set.python} | {row.conflict} |" for row in refused]
    return "\n".join(lines)


def _commits(rows: Sequence[Row]) -> str:
    """Return at which commit the cells were seen; by set if there are several."""
    by_set = {row.set.name: sorted({cell.commit for cell in row.cells.values()}) for row in rows}
    found = sorted({commit for commits in by_set.values() for commit in commits})
    if len(found) == 1:
        return f"All seen at commit {found[0]}."
    return "Seen at commits: " + "; ".join(f"{name}: {', '.join(commits) or '-'}" for name, commits in by_set.items())
