"""PyTorch's operators that touch files, processes or the network, and how TorchScript code names them.

From the schemas of PyTorch 2.13 (``torch._C._jit_get_all_schemas()``): all that take a file's name, and the namespaces
that communicate. ``tests/consent`` compares the table with the installed PyTorch.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable
from pathlib import Path

from trueport.consent.archives import read_member
from trueport.consent.refusing import refuse_without_trust

__all__ = ["NAMESPACES", "OPERATORS", "check_script", "effect_of"]

OPERATORS = {
    "aten::save": "writes a file",
    "aten::from_file": "maps a file into memory, and creates it",
    "debugprims::load_tensor": "reads a file",
    "prim::PythonOp": "calls Python",
    "prim::IgnoredPythonOp": "calls Python",
    "prim::rpc_async": "calls another process",
    "prim::rpc_sync": "calls another process",
    "prim::rpc_remote": "calls another process",
}
NAMESPACES = {
    "c10d": "communicates with other processes",
    "c10d_functional": "communicates with other processes",
    "_c10d_functional": "communicates with other processes",
    "_c10d_functional_autograd": "communicates with other processes",
    "_dtensor": "communicates with other processes",
    "symm_mem": "communicates with other processes",
    "dist_c10d": "communicates with other processes",
    "dist_rpc": "communicates with other processes",
    "debugprims": "reads files",
    "aoti": "loads compiled code",
    "inductor": "loads compiled code",
}
_OLD_FORM = re.compile(r"(.*/)?model\.json", re.IGNORECASE)
_GAP = r"(?:\s|\\|#[^\n]*\n)*"
_ATTRIBUTE = re.compile(rf"\.{_GAP}(\w+)")
_GETATTR = re.compile(r"\bgetattr\b")
_PLAIN_GETATTR = re.compile(r"""getattr\(\s*[\w.]+\s*,\s*(["'])([\w.]*)\1\s*\)""")
_NAMES = {operator.partition("::")[2]: operator for operator in OPERATORS}


def effect_of(namespace: str, name: str) -> str:
    """Return what an operator does to files, processes or the network; empty for one that only computes."""
    return OPERATORS.get(f"{namespace}::{name}", "") or NAMESPACES.get(namespace, "")


def check_script(path: Path, names: Iterable[str]) -> None:
    """Refuse a TorchScript archive whose code has such operators: they run in forward, some while it is loaded."""
    reasons = []
    with zipfile.ZipFile(path) as archive:
        for name in names:
            if _OLD_FORM.fullmatch(name):
                reasons.append(f"member {name!r} is of an old form of TorchScript, whose code may be in any member")
            if "/code/" in name.casefold() and not name.endswith(".debug_pkl"):
                code = read_member(archive, name, str(path)).decode("utf-8", errors="replace")
                reasons += [f"{operator} in {name!r} {effect}" for operator, effect in _operators(code)]
    refuse_without_trust(path, reasons)


def _operators(code: str) -> list[tuple[str, str]]:
    """Return operators of code with an effect, wherever their names follow a dot.

    The language lets a variable stand for ``torch`` or for an operator, and puts spaces, comments and broken lines
    between the parts of a name: what stands before the dot says nothing.
    """
    plain = [match[2] for match in _PLAIN_GETATTR.finditer(code)]
    named = dict.fromkeys([*_ATTRIBUTE.findall(code), *plain])
    found = [(_NAMES[name], OPERATORS[_NAMES[name]]) for name in named if name in _NAMES]
    found += [(f"{name}::…", NAMESPACES[name]) for name in named if name in NAMESPACES]
    if len(_GETATTR.findall(code)) > len(plain):
        found.append(("getattr", "hides which operator is called"))
    return found
