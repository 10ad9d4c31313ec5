"""Conversions that are ended from outside: by a signal, a limit, a full disk, a read-only folder."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import zipfile
from pathlib import Path

import pytest

from tests.backends.test_crashes import NEW, OLD, factor_of, write_graph, write_saved_model

ROOT = Path(__file__).parents[1]


@pytest.fixture
def sources(tmp_path: Path) -> dict[str, Path]:
    """The same model in three forms."""
    folder = write_graph(tmp_path / "sources", NEW, "out.onnx.data")
    with zipfile.ZipFile(folder / "model.zip", "w") as archive:
        for item in sorted(folder.glob("out.onnx*")):
            archive.write(item, item.name)
    write_saved_model(folder, NEW)
    return {"onnx": folder / "out.onnx", "zip": folder / "model.zip", "tensorflow": folder / "out"}


def _environment(folder: Path) -> dict[str, str]:
    (folder / "tmp").mkdir(exist_ok=True)
    return {**os.environ, "PYTHONPATH": f"{ROOT}:{folder}", "TMPDIR": str(folder / "tmp"), "TF_CPP_MIN_LOG_LEVEL": "3"}


def _command(source: Path, output: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "trueport", "convert", str(source), "-o", str(output), "--quiet", *words]


def _out(folder: Path) -> Path:
    (folder / "out").mkdir()
    return folder / "out"


def _assert_nothing_left(folder: Path) -> None:
    assert not os.listdir(folder / "out")
    assert not _unpacked(folder)


def _unpacked(folder: Path) -> list[str]:
    """Return our folders among the temporary ones; frameworks have files of their own there."""
    return [name for name in os.listdir(folder / "tmp") if name.startswith("trueport-")]


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129), ("SIGINT", 130)])
def test_a_signal_cleans_up(name: str, code: int, sources: dict[str, Path], tmp_path: Path) -> None:
    """It comes while what was written is being compared: the output is complete, but has no name yet."""
    loader = """
        import os, signal
        def load():
            written = [name for name in os.listdir("out") if name.endswith(".trueport")]
            assert written and any(name.startswith("trueport-zip-") for name in os.listdir(os.environ["TMPDIR"]))
            os.kill(os.getpid(), signal.{name})
            yield {{}}
    """
    (tmp_path / "loader.py").write_text(textwrap.dedent(loader.format(name=name)))
    out = _out(tmp_path)
    words = _command(sources["zip"], out / "saved", "--data", "loader:load")
    done = subprocess.run(
        words,
        env=_environment(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        # Where the tests run under nohup, SIGHUP is ignored, and stays so in children.
        preexec_fn=lambda: signal.signal(getattr(signal, name), signal.SIG_DFL),
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    _assert_nothing_left(tmp_path)


def test_a_killed_conversion_leaves_its_zip_to_the_next(sources: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "loader.py").write_text(
        "import os, signal\ndef load():\n    os.kill(os.getpid(), signal.SIGKILL)\n    yield {}\n"
    )
    out = _out(tmp_path)
    words = _command(sources["zip"], out / "saved", "--data", "loader:load")
    killed = subprocess.run(words, env=_environment(tmp_path), cwd=tmp_path, capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert os.listdir(out) and _unpacked(tmp_path)
    words = _command(sources["zip"], out / "saved")
    done = subprocess.run(words, env=_environment(tmp_path), cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert os.listdir(out) == ["saved"]
    assert not _unpacked(tmp_path)


@pytest.mark.parametrize(("source", "name"), [("onnx", "saved"), ("onnx", "m.tflite"), ("tensorflow", "m.onnx")])
def test_a_limit_on_file_sizes(source: str, name: str, sources: dict[str, Path], tmp_path: Path) -> None:
    out = _out(tmp_path)
    words = _command(sources[source], out / name, "--no-verify")
    if name.endswith(".onnx"):
        words.append("--external-data")
    done = subprocess.run(
        words,
        env=_environment(tmp_path),
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)),
    )
    assert done.returncode == 2, done.stderr
    # NumPy, which writes weights, does not pass on the system's reason.
    reason = "a file was cut short" if name.endswith(".onnx") else "File too large"
    assert f"cannot be written: {reason}" in done.stderr
    assert len(done.stderr.splitlines()) == 2
    _assert_nothing_left(tmp_path)


def _why_no_mounts() -> str:
    if shutil.which("unshare") is None:
        return "unshare is not installed"
    tried = subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, text=True)
    return "" if tried.returncode == 0 else f"mounting is not allowed here: {tried.stderr.strip()[:200]}"


@pytest.mark.parametrize(
    ("options", "reason"), [("size=8k", "No space left on device"), ("ro", "Read-only file system")]
)
def test_a_disk_that_takes_nothing(options: str, reason: str, sources: dict[str, Path], tmp_path: Path) -> None:
    if why := _why_no_mounts():
        pytest.skip(why)
    out = _out(tmp_path)
    script = 'mount -t tmpfs -o "$1" none "$2"; shift 2; "$@"; code=$?; ls -A out; exit $code'
    words = ["unshare", "-rm", "sh", "-c", script, "sh", options, str(out)]
    words += _command(sources["onnx"], out / "saved", "--no-verify")
    done = subprocess.run(words, env=_environment(tmp_path), cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert f"cannot be written: {reason}" in done.stderr
    assert len(done.stderr.splitlines()) == 2
    assert not done.stdout, "something is left behind"


def _wait_until_it_writes(child: subprocess.Popen[bytes], out: Path) -> None:
    while child.poll() is None and not any(name.endswith(".trueport") for name in os.listdir(out)):
        time.sleep(0.001)


def _times(child: subprocess.Popen[bytes], out: Path) -> tuple[float, float]:
    """Return the seconds of an undisturbed conversion before it writes, and from then on until its output is there."""
    start = time.monotonic()
    _wait_until_it_writes(child, out)
    middle = time.monotonic()
    while child.poll() is None and any(name.endswith(".trueport") for name in os.listdir(out)):
        time.sleep(0.001)
    end = time.monotonic()
    assert child.wait() == 0
    return middle - start, end - middle


@pytest.mark.slow
@pytest.mark.parametrize("form", ["tensorflow", "onnx"])
def test_conversions_killed_at_any_time(form: str, sources: dict[str, Path], tmp_path: Path) -> None:
    """Ten times each: the old model or the new one, whole; the next conversion leaves nothing else behind."""
    out, old = _out(tmp_path), tmp_path / "old"
    if form == "onnx":
        write_graph(old, OLD, "out.onnx.0000aaaa.data")
        source, words = sources["tensorflow"], ["--overwrite", "--external-data"]
    else:
        old.mkdir()
        write_saved_model(old, OLD)
        source, words = sources["onnx"], ["--overwrite"]
    output = out / ("out.onnx" if form == "onnx" else "out")
    draw, times, states, codes = random.Random(form), (0.0, 0.0), [], []
    for attempt in range(11):
        shutil.rmtree(out)
        shutil.copytree(old, out)
        child = subprocess.Popen(_command(source, output, *words), env=_environment(tmp_path))
        if attempt:
            # Most of them late: the output is written, compared and gets its name.
            if attempt > 3:
                _wait_until_it_writes(child, out)
            time.sleep(times[attempt > 3] * draw.random())
            child.kill()
            codes.append(child.wait())
        else:
            times = _times(child, out)
        states.append({OLD: "old", NEW: "new"}[factor_of(output)])
        assert states[-1] == "new" or child.returncode != 0
    print(form, states, codes)
    assert subprocess.run(_command(source, output, *words), env=_environment(tmp_path)).returncode == 0
    assert factor_of(output) == NEW
    assert not [name for name in os.listdir(out) if name.startswith(".")]
    assert len(os.listdir(out)) == (2 if form == "onnx" else 1)
