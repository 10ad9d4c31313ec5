"""What stands on stderr while frameworks are loaded and used: our own words and those of others, not theirs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Literal

import pytest

from trueport.quiet import framework_prints_hidden, framework_warnings_hidden, without_known_lines
from trueport.quoting import one_line, plain_text

ROOT = Path(__file__).parents[1]
KNOWN = "I0000 00:00:1794848431.888404   11552 cudart_stub.cc:31] Could not find cuda drivers on your machine"
CUDA = "E0000 00:00:1794848435.303979   11552 cuda_platform.cc:52] failed call to cuInit: INTERNAL: CUDA error"
FAKE = f"""
import os, sys
os.write(2, b"{KNOWN}\\n")
print("another thread's line", file=sys.stderr)

class config:
    @staticmethod
    def list_physical_devices():
        os.write(2, b"{CUDA}\\n")

value = 1
"""
"""A package that says what TensorFlow says: a load takes no time."""
USE = "from trueport.lazy import LazyModule; tf = LazyModule('tensorflow', 'TensorFlow', 'tensorflow'); tf.value\n"


def fresh_python(*words: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"}
    path = os.pathsep.join([str(folder), str(ROOT)])
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**kept, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=900,
    )


@pytest.fixture
def fake(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """``fake(code, more_of_the_package, **environment)`` runs code that finds a small package for TensorFlow."""

    def run(code: str, more: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "tensorflow").mkdir()
        (tmp_path / "tensorflow" / "__init__.py").write_text(FAKE + more)
        return fresh_python("-c", code, folder=tmp_path, **environment)

    return run


Fake = Callable[..., subprocess.CompletedProcess[str]]


def test_commands_write_nothing_but_our_own_messages(tmp_path: Path) -> None:
    done = fresh_python("-m", "tests.quiet_commands", folder=tmp_path)
    said, _, refused = done.stderr.partition("refused from here on\n")
    assert said == ""
    *finished, first, second = json.loads(done.stdout.splitlines()[-1])
    assert finished == [0] * 16
    assert (first, second) == (2, 2)
    lines = refused.splitlines()
    assert lines[0].startswith("trueport: broken.keras: Keras can't load it: Exception encountered when calling ")
    assert "\x1b" not in refused
    assert [line.split(":")[0] for line in lines[1:]] == [
        "trueport",
        "  → write a SavedModel instead, or replace these operators in the source",
    ]


def test_first_use_in_four_threads_loses_no_line_of_others(tmp_path: Path) -> None:
    done = fresh_python("-m", "tests.quiet_threads", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    written = [f"{how} {number}" for how in ("print", "write") for number in range(200)]
    assert sorted(done.stderr.splitlines()) == sorted(2 * written)


def test_known_lines_are_dropped_and_others_written(fake: Fake) -> None:
    done = fake(USE + "import os; assert 'TF_CPP_MIN_LOG_LEVEL' not in os.environ; os.write(2, b'after\\n')")
    assert done.stderr == "another thread's line\nafter\n"


def test_a_load_that_fails_gives_back_what_was_caught(fake: Fake) -> None:
    done = fake(USE, "raise ImportError('broken')")
    assert done.stderr.startswith(f"{KNOWN}\nanother thread's line\nTraceback")
    assert done.stderr.endswith("ImportError: broken\n")


def test_where_the_user_loaded_tensorflow_nothing_is_hidden(fake: Fake) -> None:
    done = fake("import tensorflow\n" + USE + "tf.config.list_physical_devices()")
    assert done.stderr == f"{KNOWN}\nanother thread's line\n{CUDA}\n"


def test_who_asks_for_all_lines_sees_them(fake: Fake) -> None:
    assert KNOWN in fake(USE, TF_CPP_MIN_LOG_LEVEL="0").stderr


def test_a_closed_stderr_stays_closed(fake: Fake) -> None:
    code = "import os; os.close(2)\n" + USE + "try: os.fstat(2)\nexcept OSError: print('closed')"
    # What the package itself writes would fail.
    done = fake("import io, os, sys; os.write = lambda *_: 0; sys.stderr = io.StringIO()\n" + code)
    assert done.stdout == "closed\n", done.stderr


def test_without_a_file_the_lines_are_seen(fake: Fake) -> None:
    code = "import os, tempfile\ndef refuse(*_): raise OSError\nos.memfd_create = tempfile.TemporaryFile = refuse\n"
    assert fake(code + USE).stderr == f"{KNOWN}\nanother thread's line\n{CUDA}\n"


def test_without_files_in_memory_a_temporary_one_serves(fake: Fake) -> None:
    code = "import os\nif hasattr(os, 'memfd_create'): del os.memfd_create\n"
    assert fake(code + USE).stderr == "another thread's line\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_process_forked_meanwhile_has_the_real_stderr(fake: Fake) -> None:
    # The child never gets to the end of the load, where the parent writes what was caught.
    forking = "if not (child := os.fork()):\n    os.write(2, b'child\\n')\n    os._exit(0)\nos.waitpid(child, 0)"
    assert fake(USE, forking).stderr == "child\nanother thread's line\n"


def test_a_crash_inside_says_where(fake: Fake) -> None:
    done = fake(USE, "os.abort()")
    assert "Fatal Python error: Aborted" in done.stderr
    assert "tensorflow/__init__.py" in done.stderr


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"{KNOWN}\n", ""),
        (f"mine\n{CUDA}\nmine, without an end", "mine\nmine, without an end"),
        ("WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n\n\nx\n", "x\n"),
        ("2026-01-02 03:04:05.678: I tensorflow/core/util/port.cc:153] oneDNN custom operations are on.\n", ""),
        ("INFO: Created TensorFlow Lite XNNPACK delegate for CPU.\n", ""),
        # The user's own library logs in the same form.
        ("I0000 00:00:1794848431.888404   11552 mine.cc:31] hello\n", None),
        ("INFO: mine\n", None),
        ("\n\n", None),
    ],
)
def test_known_lines(text: str, left: str | None) -> None:
    assert without_known_lines(text.encode()) == (text if left is None else left).encode()


def package(name: str, code: str) -> ModuleType:
    made = ModuleType(name)
    exec(compile(code, f"{name}.py", "exec"), vars(made))
    return made


WARNS = "import warnings\ndef warn(text, level=1): warnings.warn(text, UserWarning, stacklevel=level)"


@pytest.mark.parametrize(("action", "times"), [("default", 1), ("always", 2)])
def test_only_warnings_of_frameworks_are_hidden(action: Literal["default", "always"], times: int) -> None:
    framework, other = package("acme.inner", WARNS), package("mine", WARNS)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter(action)
        with framework_warnings_hidden("acme"):
            framework.warn("its own")
            framework.warn("said of its caller", 2)
        for _ in range(2):
            with framework_warnings_hidden("acme"):
                other.warn(f"another package's, {action}")
                warnings.warn("the user's", UserWarning, stacklevel=1)
    found = [str(warning.message) for warning in seen]
    assert found == times * [f"another package's, {action}", "the user's"]


def test_filters_are_as_before_when_threads_overlap() -> None:
    before, show = list(warnings.filters), warnings.showwarning

    def hide() -> None:
        for _ in range(200):
            with framework_warnings_hidden("acme"), framework_prints_hidden("acme"):
                pass

    threads = [threading.Thread(target=hide) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (list(warnings.filters), warnings.showwarning) == (before, show)


def test_only_prints_of_frameworks_are_hidden(capsys: pytest.CaptureFixture[str]) -> None:
    prints = "import sys\ndef say(text):\n    print(text)\n    print(text, file=sys.stderr)"
    framework, other = package("acme.inner", prints), package("mine", prints)
    with framework_prints_hidden("acme"):
        framework.say("its own")
        other.say("another package's")
    assert capsys.readouterr() == ("another package's\n", "another package's\n")


def test_quoted_texts_hold_no_terminal_codes() -> None:
    error = ValueError("In \x1b[1mbold\x1b[0m,\n  \x1b]8;;https://a.b\x1b\\a link\x1b]8;;\x07 and [1m as text")
    assert plain_text(error) == "In bold,\n  a link and [1m as text"
    assert one_line(error, 14) == "In bold, a lin"


def test_progress_goes_on_while_stderr_is_redirected(tmp_path: Path) -> None:
    # The process ends inside, so that what was caught is never written.
    code = (
        "import os, sys; from trueport.cli.progress import progress; from trueport.quiet import start_up_hidden\n"
        "with progress(enabled=True), start_up_hidden(): print('shown', file=sys.stderr); os._exit(0)"
    )
    ours, terminal = os.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "TF_CPP_MIN_LOG_LEVEL": "3"}
    subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, stderr=terminal, check=True, timeout=600
    )
    assert b"shown" in os.read(ours, 65536)
    os.close(ours)
    os.close(terminal)
