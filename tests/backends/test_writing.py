"""Where an output may be written, what it may replace, and what two writers do to each other."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

from tests.backends.write_artifact import write
from tests.models import relu_chain
from trueport.backends.writing import claim as claiming
from trueport.backends.writing import companions, moves
from trueport.backends.writing.claim import claimed
from trueport.errors import OutputExists, WriteFailed
from trueport.report.writing import check_place, write_report

DRIVER = Path(__file__).parent / "write_artifact.py"
SAVED_MODEL = b"\x08\x01\x12\x00"
"""A SavedModel's message with an empty graph."""
_NOBODY = 65534
TFLITE = b"\x1c\0\0\0TFL3"


@pytest.fixture
def ready(tmp_path: Path) -> Path:
    """A folder with one small artifact of each form, named ``out*``."""
    folder = tmp_path / "ready"
    (folder / "out").mkdir(parents=True)
    (folder / "out" / "saved_model.pb").write_bytes(SAVED_MODEL)
    return folder


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "place"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def _onnx_file(path: Path, **metadata: str) -> Path:
    model = relu_chain()
    onnx.helper.set_model_props(model, metadata)
    path.write_bytes(model.SerializeToString())
    return path


def _write_file(path: Path, content: bytes = b"new", target: str = "onnx", overwrite: bool = True) -> None:
    with claimed(path, target, overwrite=overwrite) as claim, claim.written_aside() as fresh:
        fresh.write_bytes(content)


def _documents(folder: Path) -> Path:
    (folder / "out").mkdir()
    (folder / "out" / "thesis.txt").write_text("mine")
    return folder / "out"


def _documents_in_a_saved_model(folder: Path) -> Path:
    _documents(folder)
    (folder / "out" / "saved_model.pb").write_bytes(SAVED_MODEL)
    return folder / "out"


def _broken_saved_model(folder: Path) -> Path:
    (folder / "out").mkdir()
    (folder / "out" / "saved_model.pb").write_bytes(b"not a message")
    return folder / "out"


def _text_file(folder: Path) -> Path:
    (folder / "out.onnx").write_text("a text\n" * 20)
    return folder / "out.onnx"


def _empty_file(folder: Path) -> Path:
    (folder / "out.onnx").touch()
    return folder / "out.onnx"


def _another_message(folder: Path) -> Path:
    (folder / "out.onnx").write_bytes(SAVED_MODEL)
    return folder / "out.onnx"


def _folder_named_like_a_file(folder: Path) -> Path:
    return _documents(folder).rename(folder / "out.onnx")


def _onnx_named_tflite(folder: Path) -> Path:
    return _onnx_file(folder / "out.tflite")


def _file_for_a_folder(folder: Path) -> Path:
    return _onnx_file(folder / "out")


def _pipe(folder: Path) -> Path:
    os.mkfifo(folder / "out.onnx")
    return folder / "out.onnx"


KEPT: dict[Callable[[Path], Path], tuple[str, str]] = {
    _documents: ("tensorflow", "it is not a SavedModel, and holds 'thesis.txt'"),
    _documents_in_a_saved_model: ("tensorflow", "it holds 'thesis.txt', which is not a part of a SavedModel"),
    _broken_saved_model: ("tensorflow", "its saved_model.pb is broken"),
    _file_for_a_folder: ("tensorflow", "it is a file, not a SavedModel's folder"),
    _text_file: ("onnx", "it is not an ONNX model"),
    _empty_file: ("onnx", "it is not an ONNX model"),
    _another_message: ("onnx", "it is not an ONNX model"),
    _folder_named_like_a_file: ("onnx", "it is a folder, not a model file"),
    _pipe: ("onnx", "it is neither a file nor a folder"),
    _onnx_named_tflite: ("tflite", "it is not a TFLite model"),
}


@pytest.mark.parametrize("build", KEPT, ids=lambda build: build.__name__)
def test_overwrite_keeps_what_is_not_such_a_model(build: Callable[[Path], Path], place: Path) -> None:
    target, reason = KEPT[build]
    path = build(place)
    before = [(item, item.is_file() and item.read_bytes()) for item in sorted(place.rglob("*"))]
    with pytest.raises(OutputExists, match=reason), claimed(path, target, overwrite=True):
        pass
    assert [(item, item.is_file() and item.read_bytes()) for item in sorted(place.rglob("*"))] == before


@pytest.mark.parametrize("name", [".", "..", "/", "../place", "inner/.."])
def test_the_current_folder_is_kept(name: str, place: Path) -> None:
    (place / "inner").mkdir()
    with (
        pytest.raises(OutputExists, match="is the current folder or one above it"),
        claimed(name, "tensorflow", overwrite=True),
    ):
        pass
    assert os.listdir(place) == ["inner"]


def test_models_of_the_same_form_and_empty_folders_are_replaced(ready: Path, place: Path) -> None:
    _write_file(_onnx_file(place / "a.onnx"))
    (place / "b.tflite").write_bytes(TFLITE)
    _write_file(place / "b.tflite", target="tflite")
    (place / "c.onnx").mkdir()
    _write_file(place / "c.onnx")
    for name in ("empty", "full"):
        (place / "out").mkdir()
        if name == "full":
            (place / "out" / "saved_model.pb").write_bytes(SAVED_MODEL + b"\x12\x00")
        write(ready, place / "out", "tensorflow", overwrite=True)
        (place / "out").rename(place / name)
        assert (place / name / "saved_model.pb").read_bytes() == SAVED_MODEL
    assert sorted(os.listdir(place)) == ["a.onnx", "b.tflite", "c.onnx", "empty", "full"]
    assert {path.read_bytes() for path in place.iterdir() if path.is_file()} == {b"new"}


def _with_data(path: Path, data: str) -> Path:
    (path.parent / data).write_bytes(data.encode())
    return _onnx_file(path, location=data)


def test_old_data_files_go_with_the_graph_that_references_them(place: Path) -> None:
    path = _with_data(place / "m.onnx", "m.onnx.0123abcd.data")
    for name in ("m.onnx.00000000.data", "weights.bin", "other.onnx.0123abcd.data"):
        (place / name).touch()
    with claimed(path, "onnx", overwrite=True) as claim, claim.written_aside() as fresh:
        _with_data(fresh, "m.onnx.aaaaaaaa.data")
    names = ["m.onnx", "m.onnx.00000000.data", "m.onnx.aaaaaaaa.data", "other.onnx.0123abcd.data", "weights.bin"]
    assert sorted(os.listdir(place)) == names


def test_a_copy_of_the_graph_keeps_its_data_file(place: Path) -> None:
    path = _with_data(place / "m.onnx", "m.onnx.data")
    (place / "copy.bak").write_bytes(path.read_bytes())
    _write_file(path)
    assert sorted(os.listdir(place)) == ["copy.bak", "m.onnx", "m.onnx.data"]


def test_a_file_that_cannot_be_read_keeps_the_data_files(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be a graph that references them."""
    path = _with_data(place / "m.onnx", "m.onnx.data")
    (place / "locked.onnx").touch()
    read = companions.is_onnx_file

    def refuse_locked(item: Path) -> bool:
        if item.name == "locked.onnx":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(item))
        return read(item)

    monkeypatch.setattr(companions, "is_onnx_file", refuse_locked)
    _write_file(path)
    assert sorted(os.listdir(place)) == ["locked.onnx", "m.onnx", "m.onnx.data"]


def test_a_data_file_never_replaces_another(place: Path) -> None:
    (place / "m.onnx.aaaaaaaa.data").write_bytes(b"precious")
    with (
        pytest.raises(OutputExists, match=r"'m.onnx.aaaaaaaa.data' appeared"),
        claimed("m.onnx", "onnx", overwrite=True) as claim,
        claim.written_aside() as fresh,
    ):
        _with_data(fresh, "m.onnx.aaaaaaaa.data")
    assert (place / "m.onnx.aaaaaaaa.data").read_bytes() == b"precious"
    assert os.listdir(place) == ["m.onnx.aaaaaaaa.data"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_dangling_and_circular_links(overwrite: bool, place: Path) -> None:
    (place / "dangling").symlink_to(place / "nowhere")
    (place / "circular").symlink_to(place / "circular")
    for name in ("dangling", "circular"):
        with (
            pytest.raises(OutputExists, match="is a symbolic link to a place"),
            claimed(name, "onnx", overwrite=overwrite),
        ):
            pass
    assert sorted(os.listdir(place)) == ["circular", "dangling"]


def test_a_link_is_replaced_and_its_target_stays(ready: Path, place: Path) -> None:
    store = place / "store"
    store.mkdir()
    (place / "m.onnx").symlink_to(_with_data(store / "m.onnx", "m.onnx.data"))
    _write_file(place / "m.onnx")
    (store / "saved").mkdir()
    (store / "saved" / "saved_model.pb").write_bytes(SAVED_MODEL)
    (place / "out").symlink_to(store / "saved")
    write(ready, place / "out", "tensorflow", overwrite=True)
    assert not (place / "m.onnx").is_symlink() and not (place / "out").is_symlink()
    assert sorted(os.listdir(store)) == ["m.onnx", "m.onnx.data", "saved"]
    assert os.listdir(store / "saved") == ["saved_model.pb"]


def test_names_at_and_beyond_the_longest(place: Path) -> None:
    longest = "n" * 250 + ".onnx"
    _write_file(Path(longest))
    with pytest.raises(WriteFailed, match="File name too long"), claimed("n" + longest, "onnx"):
        pass
    assert os.listdir(place) == [longest]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EFBIG])
def test_an_error_of_the_system_names_the_output(code: int, place: Path) -> None:
    with (
        pytest.raises(WriteFailed) as caught,
        claimed("m.onnx", "onnx") as claim,
        claim.written_aside() as fresh,
        claiming.write_failures_named(claim.path),
    ):
        fresh.write_bytes(b"half")
        raise OSError(code, os.strerror(code), str(fresh))
    assert str(caught.value).startswith(f"m.onnx: cannot be written: {os.strerror(code)}\n  → ")
    assert not os.listdir(place)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("mode", [0o555, 0o755], ids=["nobody's own, read-only", "of another user"])
def test_a_folder_that_the_user_may_not_write_to(mode: int) -> None:
    """Root may write everywhere, so this is done as nobody."""
    folder = Path(tempfile.mkdtemp())
    try:
        os.chmod(folder, mode)
        if mode == 0o555:
            os.chown(folder, _NOBODY, -1)
        os.seteuid(_NOBODY)
        with pytest.raises(WriteFailed) as caught, claimed(folder / "m.onnx", "onnx"):
            pass
        assert f"m.onnx: cannot be written: {os.strerror(errno.EACCES)}" in str(caught.value)
        with pytest.raises(WriteFailed, match=os.strerror(errno.EACCES)):
            check_place(folder / "r.json", folder / "m.onnx")
    finally:
        os.seteuid(0)
        assert os.listdir(folder) == []
        shutil.rmtree(folder)


def test_an_older_report_stays_until_the_new_one_is_whole(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = place / "r.json"
    report.write_text("old")
    (place / "link.json").symlink_to("r.json")
    write_report(place / "link.json", "new")
    assert (report.read_text(), (place / "link.json").is_symlink()) == ("new", True)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(WriteFailed, match=os.strerror(errno.ENOSPC)):
        write_report(report, "newer")
    assert report.read_text() == "new"
    assert sorted(os.listdir(place)) == ["link.json", "r.json"]


def test_one_name_is_claimed_once(place: Path) -> None:
    with claimed("m.onnx", "onnx") as claim:
        with pytest.raises(OutputExists, match="another conversion is writing to it"), claimed("m.onnx", "onnx"):
            pass
        with claimed("n.onnx", "onnx"), claim.written_aside() as fresh:
            fresh.write_bytes(b"first")
    assert os.listdir(place) == ["m.onnx"]


@pytest.mark.parametrize("locks", [True, False], ids=["locks", "no locks"])
def test_of_many_writers_one_wins(locks: bool, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the file system has no locks: the name is taken by a rename that does not replace."""
    if not locks:
        monkeypatch.setattr(claiming, "try_lock", lambda _: claiming.Lock.UNSUPPORTED)
    together, won, lost = threading.Barrier(8), [], []

    def run(number: int) -> None:
        together.wait()
        try:
            _write_file(Path("m.onnx"), str(number).encode(), overwrite=False)
            won.append(number)
        except OutputExists as error:
            lost.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(won), len(lost)) == (1, 7)
    assert (place / "m.onnx").read_text() == str(won[0])
    assert os.listdir(place) == ["m.onnx"]


def test_a_live_writer_is_left_alone(ready: Path, place: Path) -> None:
    """A second process neither removes what the first one has written so far nor ends with 0."""
    with claimed(place / "out", "tensorflow") as claim, claim.written_aside() as fresh:
        fresh.mkdir()
        (fresh / "saved_model.pb").write_bytes(SAVED_MODEL)
        words = [sys.executable, str(DRIVER), str(ready), str(place / "out"), "tensorflow", "--overwrite"]
        second = subprocess.run(
            words, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(DRIVER.parents[2])}
        )
        assert second.returncode == 2
        assert "another conversion is writing to it" in second.stderr
        assert (fresh / "saved_model.pb").exists()
    assert os.listdir(place) == ["out"]


def test_an_output_that_appears_meanwhile_is_kept(place: Path) -> None:
    with (
        pytest.raises(OutputExists, match="exists already"),
        claimed("m.onnx", "onnx") as claim,
        claim.written_aside() as fresh,
    ):
        fresh.write_bytes(b"ours")
        (place / "m.onnx").write_bytes(b"theirs")
    assert (place / "m.onnx").read_bytes() == b"theirs"
    assert os.listdir(place) == ["m.onnx"]


def test_the_old_folder_returns_when_the_new_one_gets_no_name(
    ready: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without renameat2, in the process itself: the rename after the one that sets the old output aside fails."""
    monkeypatch.setattr(moves, "_renameat2", lambda: None)
    (place / "out").mkdir()
    (place / "out" / "saved_model.pb").write_bytes(SAVED_MODEL + b"\x12\x00")
    rename = os.rename

    def fail_once(old: Path, new: Path) -> None:
        if old.parent.name == "new":
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(new))
        rename(old, new)

    monkeypatch.setattr(os, "rename", fail_once)
    with pytest.raises(WriteFailed, match="Input/output error"):
        write(ready, Path("out"), "tensorflow", overwrite=True)
    assert (place / "out" / "saved_model.pb").read_bytes() == SAVED_MODEL + b"\x12\x00"
    assert os.listdir(place) == ["out"]
