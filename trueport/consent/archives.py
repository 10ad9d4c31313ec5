"""Zip archives: every reader must see the same members, and none of them outside of the archive."""

from __future__ import annotations

import json
import stat
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any

from trueport.errors import InvalidModel

__all__ = ["check_members", "member_names", "parse_json"]


def member_names(path: Path, *, ignore_case: bool = False) -> list[str]:
    """Return the names of an archive's members, checked."""
    try:
        with zipfile.ZipFile(path) as archive:
            return check_members(archive, str(path), ignore_case=ignore_case)
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise InvalidModel(f"cannot be read as a zip: {error}", where=str(path), remedy="fetch it again") from error


def check_members(archive: zipfile.ZipFile, where: str, *, ignore_case: bool = False) -> list[str]:
    """Return the names of all members; raise `InvalidModel` for one that is a link, leads out, or is there twice.

    ``ignore_case``: the archive's readers may take one name for another that differs in case only.
    """
    seen: dict[str, str] = {}
    for member in archive.infolist():
        name = member.filename
        if why := _leads_out(member):
            raise InvalidModel(f"its member {name!r} {why}", where=where, remedy="pack the files again")
        key = name.casefold() if ignore_case and "/code/" not in name else name
        if key in seen:
            raise InvalidModel(
                f"holds {seen[key]!r} and {name!r}: which one is read depends on the reader",
                where=where,
                remedy="pack the files again, each once",
            )
        seen[key] = name
    return list(seen.values())


def _leads_out(member: zipfile.ZipInfo) -> str:
    path = PurePosixPath(member.filename.replace("\\", "/"))
    if stat.S_ISLNK(member.external_attr >> 16):
        return "is a link"
    if path.is_absolute() or ".." in path.parts or ":" in (path.parts or ("",))[0]:
        return "leads out of the archive"
    return ""


def parse_json(content: str | bytes, where: str, name: str) -> Any:
    """Return parsed JSON; raise `InvalidModel` where it is broken, or nested so deeply that no parser takes it."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InvalidModel(
            f"{name} is not valid JSON: {type(error).__name__}: {str(error)[:100]}",
            where=where,
            remedy="write or fetch the file again",
        ) from error
