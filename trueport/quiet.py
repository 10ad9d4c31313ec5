"""What frameworks say while they start and work, kept off the screen; everything else reaches stderr.

TensorFlow's C++ code writes to file descriptor 2 while it is loaded (before it reads ``TF_CPP_MIN_LOG_LEVEL``), when
its devices are listed for the first time, and when TensorFlow Lite's converter and interpreter begin. So the descriptor
itself is redirected, for as long as these steps take. Known lines are dropped, all others are written when the step
ends. After a failure every line is written. With ``TF_CPP_MIN_LOG_LEVEL=0``, or where the user loaded TensorFlow
before, nothing is redirected.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import re
import sys
import tempfile
import threading
import warnings
from collections.abc import Collection, Iterator
from io import StringIO
from types import FrameType
from typing import Any, TextIO, cast

__all__ = [
    "framework_prints_hidden",
    "framework_warnings_hidden",
    "start_up_hidden",
    "tensorflow_lines_hidden",
    "without_known_lines",
]

_SOURCES = (
    # while it is loaded
    *("port", "cudart_stub", "cpu_feature_guard", "computation_placer", "py_utils"),
    *("cuda_platform", "cuda_executor", "cuda_diagnostics", "cuda_dnn", "cuda_fft", "cuda_blas", "cuda_solvers"),
    *("gpu_device", "gpu_process_state", "service"),
    # while a graph is optimized or a SavedModel is read by TensorFlow Lite's converter
    *("devices", "single_machine", "reader", "loader", "mlir_graph_optimization_pass", "dump_mlir_util"),
    *("tf_tfl_flatbuffer_helpers", "flatbuffer_export"),
)
"""Source files of TensorFlow, as its log lines name them."""
_KNOWN = re.compile(
    "|".join(
        (
            r"WARNING: All log messages before absl::InitializeLog\(\) is called are written to STDERR",
            rf"[IWE]\d{{4}} \d\d:\d\d:\d+\.\d+ +\d+ (?:[\w.-]+/)*(?:{'|'.join(_SOURCES)})\.cc:\d+\] ",
            r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: [IWE] (?:tensorflow|external|xla)/\S+\.cc:\d+\] ",
            r"To enable the following instructions: .* rebuild TensorFlow with the appropriate compiler flags",
            r"INFO: (?:Created TensorFlow Lite \S+ delegate|Initialized TensorFlow Lite runtime)",
            # Why TensorFlow Lite's converter refuses a model: its exception says the same, and so does our error.
            r"(?:loc\(.*\): )?error: (?:'tfl?\.\w+' op |failed while converting: )",
            r"Some ops (?:are not supported by the native TFLite runtime|in the model are custom ops)",
            r"(?:TF Select|Custom) ops: ",
            r"Details:$",
            r"\ttf\.\w+\(",
        )
    ).encode()
)
_ASKED_FOR_ALL = "0"


def without_known_lines(text: bytes) -> bytes:
    """Return ``text`` without TensorFlow's start-up lines, and without the empty line that may follow one."""
    kept = []
    dropped = False
    for line in text.splitlines(keepends=True):
        dropped = bool(_KNOWN.match(line)) or (dropped and not line.strip())
        kept += [] if dropped else [line]
    return b"".join(kept)


class _Redirection:
    """File descriptor 2, sent to a temporary file from the first thread that asks to the last one that is done.

    Threads share it: none waits for another one's step, so an import lock can't deadlock with it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._failed = False
        self._real = self._caught = -1
        self._reports_crashes = False

    def begin(self) -> None:
        """Redirect, unless it is done already, or descriptor 2 is closed, or no file can be made."""
        with self._lock:
            self._users += 1
            if self._users == 1:
                self._open()

    def end(self, *, failed: bool) -> None:
        """Undo it after the last user: write what was caught, without known lines if no user failed."""
        with self._lock:
            self._failed |= failed
            self._users = max(self._users - 1, 0)
            if self._users == 0 and self._real != -1:
                text = self._close()
                _write(text if self._failed else without_known_lines(text))
            self._failed &= self._users > 0

    def follow_forks(self) -> None:
        """Give each forked process the real stderr; what was caught is its parent's to write."""
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._lock.acquire, after_in_parent=self._lock.release, after_in_child=self._leave_in_child
            )

    def _leave_in_child(self) -> None:
        self._users = 0
        if self._real != -1:
            self._close()
        self._lock.release()

    def _open(self) -> None:
        _flush()
        try:
            self._real = os.dup(2)
        except OSError:  # closed: there is nothing to keep clean
            return
        try:
            self._caught = _anonymous_file()
        except OSError:  # neither memory nor a folder for it: the lines are seen, which does no harm
            os.close(self._real)
            self._real = -1
            return
        os.dup2(self._caught, 2)
        if not faulthandler.is_enabled():
            # A process that dies inside never writes what was caught: the user is to see at least where it died.
            faulthandler.enable(self._real)
            self._reports_crashes = True

    def _close(self) -> bytes:
        _flush()
        os.dup2(self._real, 2)
        if self._reports_crashes:
            faulthandler.disable()
        text = os.pread(self._caught, os.fstat(self._caught).st_size, 0)
        os.close(self._real)
        os.close(self._caught)
        self._real = self._caught = -1
        self._reports_crashes = False
        return text


_REDIRECTION = _Redirection()
_REDIRECTION.follow_forks()


def _anonymous_file() -> int:
    """Return a descriptor of an empty file without a name; in memory where the system has such files."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("stderr")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _flush() -> None:
    """Write what Python holds back of stderr, so that it goes where its writer meant it to."""
    with contextlib.suppress(OSError, ValueError):  # closed, or a pipe that nobody reads
        if sys.stderr is not None:
            sys.stderr.flush()


def _write(text: bytes) -> None:
    left = memoryview(text)
    with contextlib.suppress(OSError):  # a pipe that nobody reads
        while left:
            left = left[os.write(2, left) :]


_ours = False
"""Whether TensorFlow was loaded inside of start_up_hidden: where the user loaded it, its lines are the user's."""


@contextlib.contextmanager
def start_up_hidden() -> Iterator[None]:
    """Hide what TensorFlow says while it is loaded inside, here or by a user's module, and its devices are found."""
    if "tensorflow" in sys.modules or os.environ.get("TF_CPP_MIN_LOG_LEVEL") == _ASKED_FOR_ALL:
        yield
        return
    global _ours
    with _redirected(all_on_failure=True):
        yield
        if (tensorflow := sys.modules.get("tensorflow")) is not None:
            _ours = True
            # The first listing looks for GPUs, and says so. It leaves the devices open to be configured.
            tensorflow.config.list_physical_devices()


@contextlib.contextmanager
def tensorflow_lines_hidden() -> Iterator[None]:
    """Hide known lines of a TensorFlow that start_up_hidden loaded; errors inside are quoted by who catches them."""
    if not _ours:
        yield
        return
    with _redirected(all_on_failure=False):
        yield


@contextlib.contextmanager
def _redirected(*, all_on_failure: bool) -> Iterator[None]:
    _REDIRECTION.begin()
    failed = all_on_failure
    try:
        yield
        failed = False
    finally:
        _REDIRECTION.end(failed=failed)


_PROCESS_WIDE = threading.RLock()
"""Filters of warnings and Python's streams are the whole process's: who changed them last must put them back first."""
_shown: set[tuple[str, type[Warning], str, int]] = set()


@contextlib.contextmanager
def framework_warnings_hidden(*packages: str) -> Iterator[None]:
    """Hide warnings that code of ``packages`` raises, also those it attributes to its caller; others are shown.

    Once each, unless the user's first filter asks for always: a module is run many times.
    """
    with _PROCESS_WIDE, warnings.catch_warnings():
        always = any(action == "always" for action, *_ in warnings.filters[:1])
        for package in packages:
            warnings.filterwarnings("ignore", module=rf"{re.escape(package)}(\.|$)")
        show = warnings.showwarning

        def show_others(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            place = (str(message), category, filename, lineno)
            if (always or place not in _shown) and not _is_raised_by(packages, str(message)):
                # Python's own record of what was shown is void whenever the filters change.
                _shown.add(place)
                show(message, category, filename, lineno, file, line)

        warnings.showwarning = show_others
        yield


def _is_raised_by(packages: Collection[str], text: str) -> bool:
    """True if the innermost code outside of the standard library belongs to one of ``packages``."""
    if "(Triggered internally at " in text:  # PyTorch's C++ code, which has no frame
        return "torch" in packages
    return _package_of(sys._getframe(2)) in packages


def _package_of(frame: FrameType | None) -> str:
    """Return the package of the innermost code, from ``frame`` outwards, that is not the standard library's."""
    while frame is not None:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package not in sys.stdlib_module_names and package != "typing_extensions":
            return package
        frame = frame.f_back
    return ""


@contextlib.contextmanager
def framework_prints_hidden(*packages: str) -> Iterator[None]:
    """Hide what Python code of ``packages`` writes to sys.stdout and sys.stderr; all else passes, in all threads."""
    with (
        _PROCESS_WIDE,
        contextlib.redirect_stdout(cast("TextIO", _Others(sys.stdout, packages))),
        contextlib.redirect_stderr(cast("TextIO", _Others(sys.stderr, packages))),
    ):
        yield


class _Others:
    """A stream that takes no text from the code of some packages."""

    def __init__(self, stream: TextIO | None, packages: Collection[str]) -> None:
        self._stream = stream if stream is not None else StringIO()
        self._packages = packages

    def write(self, text: str) -> int:
        return len(text) if _package_of(sys._getframe(1)) in self._packages else self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
