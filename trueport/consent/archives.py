"""Zip archives: every reader must see the same members, and none of them outside of the archive."""

from __future__ import annotations

import json
import os
import stat
import struct
import zipfile
import zlib
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from typing import Any

from trueport.errors import InvalidModel

__all__ = ["check_members", "check_size", "member_names", "parse_json", "read_member"]

_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR = struct.Struct("<4sLQL")
_LOCATOR_MAGIC = b"PK\x06\x07"
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    LZMAError,
    OSError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)
"""What zipfile raises for members that are broken, encrypted, or packed in a way that it does not know."""
_MEMBERS = 100_000
_RATIO = 100
_ALWAYS_RIGHT = 2**30
"""Bytes; how well small archives are compressed does not matter."""


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
    _check_directory(archive, where)
    check_size(archive, where)
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
        _check_header(archive, member, where)
    return list(seen.values())


def read_member(archive: zipfile.ZipFile, name: str, where: str) -> bytes:
    """Return a member's content; raise `InvalidModel` if it is broken or encrypted."""
    try:
        return archive.read(name)
    except _UNREADABLE as error:
        raise _unreadable(name, where, error) from error


def _check_header(archive: zipfile.ZipFile, member: zipfile.ZipInfo, where: str) -> None:
    """Refuse a member that its own header calls by another name than the list of members, or that can't be unpacked."""
    try:
        archive.open(member).close()
    except _UNREADABLE as error:
        raise _unreadable(member.filename, where, error) from error


def _unreadable(name: str, where: str, error: Exception) -> InvalidModel:
    return InvalidModel(f"its member {name!r} cannot be read: {error}", where=where, remedy="pack the files again")


def _check_directory(archive: zipfile.ZipFile, where: str) -> None:
    """Refuse an archive whose list of members is not where it says.

    Python looks for the list just before the record that ends the archive, other readers at the offset that this record
    states: each may find a list of its own. Data before the first member may be a file of another format to them.
    """
    file = archive.fp
    assert file is not None
    end = file.seek(0, os.SEEK_END) - _END.size - len(archive.comment)
    file.seek(max(0, end - _LOCATOR.size - _END_64.size))
    tail = file.read(_END_64.size + _LOCATOR.size + _END.size)
    stated = _END.unpack(tail[-_END.size :])[6] if len(tail) >= _END.size else -1
    if len(tail) == _END_64.size + _LOCATOR.size + _END.size and tail[_END_64.size :].startswith(_LOCATOR_MAGIC):
        record = _LOCATOR.unpack(tail[_END_64.size : -_END.size])[2]
        stated = _END_64.unpack(tail[: _END_64.size])[9] if record == end - _LOCATOR.size - _END_64.size else -1
    starts = [member.header_offset for member in archive.infolist()]
    if stated != archive.start_dir or min(starts, default=0) != 0:
        raise InvalidModel(
            "its list of members is not where it says, or its first member not at the start: which members are read "
            "depends on the reader",
            where=where,
            remedy="pack the files again",
        )


def check_size(archive: zipfile.ZipFile, where: str) -> None:
    """Refuse an archive that would fill the disk or the memory, or hold up whoever unpacks it."""
    members, packed = archive.infolist(), os.fstat(archive.fp.fileno()).st_size if archive.fp else 0
    unpacked = sum(member.file_size for member in members)
    if len(members) > _MEMBERS or (unpacked > _ALWAYS_RIGHT and unpacked > _RATIO * packed):
        raise InvalidModel(
            f"{len(members)} members of {packed} bytes would unpack to {unpacked} bytes",
            where=where,
            remedy="if that is right, unpack it yourself and pack it again without compression",
        )


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
