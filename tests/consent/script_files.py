"""Hostile TorchScript: operators that write and map files, in forward and while the file is loaded."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import torch

from tests.consent.case import Command, Hostile, of_model

__all__ = ["FILES"]

_FORWARD = "    return torch.relu(x)\n"
_END = 22
"""Bytes of the record that ends an archive."""


class _Relu(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x)


def _script(body: str, suffix: str = ".pt") -> Callable[[Path, Path], list[Command]]:
    """Return a module with lines of its forward replaced; CANARY stands for the canary's path."""

    def build(folder: Path, canary: Path) -> list[Command]:
        written, file = io.BytesIO(), folder / f"model{suffix}"
        torch.jit.save(torch.jit.script(_Relu()), written)
        with zipfile.ZipFile(written) as source, zipfile.ZipFile(file, "w") as target:
            for name in source.namelist():
                content = source.read(name)
                if re.search(r"code/.*\.py$", name):
                    assert _FORWARD.encode() in content
                    lines = body.replace("CANARY", str(canary))
                    content = content.replace(_FORWARD.encode(), f"{lines}{_FORWARD}".encode())
                target.writestr(name, content)
        return of_model(file, info=False, words=("--example", "x=float32[2,2]"))

    return build


_SETSTATE = """    return torch.relu(x)
  def __getstate__(self: __torch__.tests.consent.script_files._Relu) -> Tensor:
    return torch.ones([1])
  def __setstate__(self: __torch__.tests.consent.script_files._Relu, state: Tensor) -> NoneType:
    torch.save(state, "CANARY")
    return None
  def other(self: __torch__.tests.consent.script_files._Relu,
    x: Tensor) -> Tensor:
"""


def _two_directories(folder: Path, canary: Path) -> list[Command]:
    """Return an archive with two lists of members: an honest one at its end, another where the end says it is.

    PyTorch reads the second. Python reads the first, and moves its offsets by the distance of the two, which is right
    here because both parts have the same length.
    """
    file = folder / "model.pt"
    _script('    torch.abs(x) # "CANARY"\n')(folder, canary)
    honest = file.read_bytes()
    commands = _script('    torch.save(x, "CANARY")\n')(folder, canary)
    file.write_bytes(file.read_bytes()[:-_END] + honest)
    return commands


FILES = [
    Hostile("script-save", _script('    torch.save(x, "CANARY")\n'), "aten::save"),
    Hostile("script-save-ts", _script('    torch.save(x, "CANARY")\n', ".ts"), "aten::save"),
    Hostile("script-save-by-namespace", _script('    ops.aten.save(x, "CANARY")\n'), "aten::save"),
    Hostile("script-save-with-spaces", _script('    torch . save ( x, "CANARY")\n'), "aten::save"),
    Hostile("script-from-file", _script('    y = torch.from_file("CANARY", True, 4)\n'), "aten::from_file"),
    Hostile("script-from-file-branch", _script('    if True:\n      torch.save(x, "CANARY")\n'), "aten::save"),
    Hostile("script-load-tensor", _script('    y = ops.debugprims.load_tensor("CANARY", [1], [1])\n'), "load_tensor"),
    Hostile("script-collective", _script("    y = ops._c10d_functional.wait_tensor(x)\n"), "_c10d_functional"),
    Hostile("script-set-state", _script(_SETSTATE), "aten::save"),
    Hostile("script-save-on-a-broken-line", _script('    torch . \\\n  save(x, "CANARY")\n'), "aten::save"),
    Hostile("script-save-behind-a-comment", _script('    (torch # .\n   .save)(x, "CANARY")\n'), "aten::save"),
    Hostile("script-save-by-another-name", _script('    t = torch\n    t.save(x, "CANARY")\n'), "aten::save"),
    Hostile("script-save-as-a-value", _script('    f = torch.save\n    f(x, "CANARY")\n'), "aten::save"),
    Hostile("script-save-in-brackets", _script('    (torch).save(x, "CANARY")\n'), "aten::save"),
    Hostile("script-namespace-as-a-value", _script('    o = ops.aten\n    o.save(x, "CANARY")\n'), "aten::save"),
    Hostile("script-getattr", _script('    f = getattr(torch, "save")\n    f(x, "CANARY")\n'), "aten::save"),
    Hostile("script-getattr-of-parts", _script('    f = getattr(torch, "sa" "ve")\n    f(x, "CANARY")\n'), "getattr"),
    Hostile("script-two-directories", _two_directories, "list of members", consent=False),
]
