"""A report as a file: which form, the file's name says."""

from __future__ import annotations

import json
from pathlib import Path

from trueport.errors import UsageError
from trueport.ir.files import kind_if_irregular
from trueport.report.data import Report
from trueport.report.schema import upgraded

__all__ = ["FORMS", "check_form", "read_report", "rendered"]

FORMS = (".html", ".json", ".md")


def check_form(path: Path) -> None:
    """Refuse early what could not be written later."""
    if path.suffix.lower() not in FORMS:
        raise UsageError(
            f"a report can't be written as {path.suffix or 'a file without an ending'}",
            where=str(path),
            remedy="name a file that ends in .html, .json or .md",
        )


def read_report(path: Path) -> str:
    """The text of a report that was written as JSON."""
    if kind := kind_if_irregular(path):
        raise UsageError(
            f"expected a regular file, got {kind}", where=str(path), remedy="name a report that was written as JSON"
        )
    try:
        text = path.read_text(encoding="utf-8")
        upgraded(json.loads(text))
    except (OSError, ValueError, RecursionError) as error:
        why = "there is no such file" if isinstance(error, FileNotFoundError) else f"can't be read: {error}"
        raise UsageError(why, where=str(path), remedy="trueport convert … --report result.json writes one") from error
    except UsageError as error:
        error.where = str(path)
        raise
    return text


def rendered(text: str, form: str) -> str:
    """A report's JSON, of this or an older form, in another form."""
    if form == ".html":
        from trueport.report.html.render import page

        return page(upgraded(json.loads(text)))
    if form == ".md":
        return Report.from_json(text).to_markdown()
    return json.dumps(upgraded(json.loads(text)), indent=1) + "\n"
