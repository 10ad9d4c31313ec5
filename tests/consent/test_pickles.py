"""Every form of a pickle that a file can hold is refused without trust, whatever it names: only tensors are read."""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

import trueport
from tests.consent.case import touch
from tests.consent.onnx_files import relu
from tests.consent.unsafe_globals import UNSAFE_GLOBALS
from trueport.consent.tensorflow_operators import EFFECTS
from trueport.errors import TrueportError, Untrusted, UsageError
from trueport.verifying.inputs.data import read_data

Write = Callable[[Path, bytes], Path]


def _global(module: str, name: str, argument: str) -> bytes:
    """Return a pickle of protocol 2 that calls a function with a text."""
    text = argument.encode()
    call = b"X" + struct.pack("<I", len(text)) + text + b"\x85R."
    return b"\x80\x02c" + f"{module}\n{name}\n".encode() + call


def _stack_global(module: str, name: str, argument: str) -> bytes:
    """The same, by names on the stack, as protocol 4 has it."""
    words = [word.encode() for word in (module, name, argument)]
    pushed = [
        b"\x8c" + bytes([len(word)]) + word if len(word) < 256 else b"X" + struct.pack("<I", len(word)) + word
        for word in words
    ]
    return b"\x80\x04" + pushed[0] + pushed[1] + b"\x93" + pushed[2] + b"\x85R."


def _instance(module: str, name: str, argument: str) -> bytes:
    """The same, by the oldest instruction for it."""
    return b"(V" + argument.encode() + b"\n" + f"i{module}\n{name}\n".encode() + b"."


def _zip_of_torch(folder: Path, content: bytes) -> Path:
    with zipfile.ZipFile(folder / "m.pt", "w") as archive:
        archive.writestr("m/data.pkl", content)
        archive.writestr("m/version", "3\n")
    return folder / "m.pt"


def _legacy(folder: Path, content: bytes) -> Path:
    """A file of torch.save as it was before it wrote zips."""
    head = [0x1950A86A20F9469CFC6C, 1001, {"protocol_version": 1001, "little_endian": True, "type_sizes": {}}]
    (folder / "m.pth").write_bytes(b"".join(pickle.dumps(item, 2) for item in head) + content)
    return folder / "m.pth"


def _exported(member: str) -> Write:
    def write(folder: Path, content: bytes) -> Path:
        inner = io.BytesIO()
        with zipfile.ZipFile(inner, "w") as archive:
            archive.writestr("m/data.pkl", content)
            archive.writestr("m/version", "3\n")
        with zipfile.ZipFile(folder / "m.pt2", "w") as archive:
            archive.writestr("m/models/model.json", "{}")
            archive.writestr(f"m/{member}", content if "obj" in member else inner.getvalue())
        return folder / "m.pt2"

    return write


_FORMS: dict[str, Write] = {
    "pt": _zip_of_torch,
    "legacy": _legacy,
    "pt2-sample-inputs": _exported("data/sample_inputs/model.pt"),
    "pt2-constant": _exported("data/constants/opaque_obj_0"),
    "pt2-weights": _exported("data/weights/weight_0.pt"),
}


@pytest.mark.parametrize("form", _FORMS)
def test_torch_reads_no_unsafe_global(form: str, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    for index, (module, name) in enumerate(UNSAFE_GLOBALS):
        made = (_global, _stack_global, _instance)[index % 3](module, name, touch(canary))
        file = _FORMS[form](tmp_path, made)
        with pytest.raises(TrueportError) as refusal:
            trueport.check(file, to="onnx", example_inputs=torch.zeros(1, 2))
        assert not canary.exists(), f"{module}.{name} was called"
        assert isinstance(refusal.value, Untrusted) or form == "legacy", f"{module}.{name}: {refusal.value}"


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_arrays_hold_no_unsafe_global(suffix: str, tmp_path: Path) -> None:
    file, canary = tmp_path / f"x{suffix}", tmp_path / "canary"
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|O", "fortran_order": False, "shape": (1,)})
    for module, name in UNSAFE_GLOBALS:
        content = header.getvalue() + _global(module, name, touch(canary))
        if suffix == ".npy":
            file.write_bytes(content)
        else:
            with zipfile.ZipFile(file, "w") as archive:
                archive.writestr("x.npy", content)
        with pytest.raises(UsageError, match="allow_pickle"):
            list(read_data(file))
        assert not canary.exists(), f"{module}.{name} was called"


def test_a_pickle_beside_a_model_is_not_read(tmp_path: Path) -> None:
    """`.pkl`, `.joblib`, `.bin`, `.ckpt` and such are not sources."""
    canary = tmp_path / "canary"
    for suffix in (".pkl", ".pickle", ".joblib", ".dill", ".dat", ".data", ".bin", ".ckpt", ".safetensors", ".tar"):
        (tmp_path / f"m{suffix}").write_bytes(_global("os", "system", touch(canary)))
        for to in ("onnx", "tensorflow"):
            with pytest.raises(TrueportError):
                trueport.check(tmp_path / f"m{suffix}", to=to)
    (tmp_path / "honest.onnx").write_bytes(relu().SerializeToString())
    trueport.check(tmp_path / "honest.onnx")
    assert not canary.exists()


def test_operators_that_scanners_name_are_in_the_table() -> None:
    assert {"ReadFile", "WriteFile", "MatchingFiles", "PyFunc", "EagerPyFunc", "PrintV2"} <= set(EFFECTS)
