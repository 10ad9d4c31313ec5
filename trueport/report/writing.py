"""A report's file: that it can be written is made sure before work begins, and it is never left half written."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from trueport.backends.writing.claim import write_failures_named
from trueport.errors import OutputExists
from trueport.report.forms import check_form, rendered

__all__ = ["check_place", "write_rendered", "write_report"]


def check_place(path: Path, output: Path) -> None:
    """Refuse a path that a report could not be written to, or that belongs to the output, or has no report's ending."""
    check_form(path)
    place, model = _followed(path), _followed(output)
    if place == model or model in place.parents:
        raise OutputExists(
            "the report would be a part of the output", where=str(path), remedy="name a file beside the output"
        )
    with write_failures_named(path):
        if _is_taken(place):
            if not place.is_file():
                raise OutputExists(
                    "is not a file, so no report replaces it", where=str(path), remedy="name another file"
                )
            os.close(os.open(place, os.O_WRONLY))
        fresh = _fresh(place)
        os.close(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        fresh.unlink()


def write_rendered(path: Path, json: str) -> None:
    """Write a report, given as JSON, in the form that its file's ending names."""
    write_report(path, rendered(json, path.suffix.lower()))


def write_report(path: Path, text: str) -> None:
    """Write a report beside its name, then give it the name; an older one stays until then."""
    place = _followed(path)
    fresh = _fresh(place)
    try:
        with write_failures_named(path):
            fresh.write_text(text, encoding="utf-8")
            os.replace(fresh, place)
    finally:
        fresh.unlink(missing_ok=True)


def _followed(path: Path) -> Path:
    """Return a path after all symbolic links; a link that leads to itself stays as it is."""
    return Path(os.path.realpath(path))


def _is_taken(place: Path) -> bool:
    """True if anything has the name; raise OSError for one that nothing could have."""
    try:
        os.lstat(place)
    except FileNotFoundError:
        return False
    return True


def _fresh(place: Path) -> Path:
    return place.parent / f".{secrets.token_hex(8)}.trueport-report"
