"""Converted models run by TensorFlow for ARM, under an emulator of one (Debian's ``qemu-user``).

    dpkg --add-architecture arm64 && apt-get update                    # once: Python and its libraries come from there
    python -m tests.machines.models convert                            # once: the models and what they are judged by
    python -m tests.machines.arm gru lstm mobilenet_v2 …               # no names: all models; hours

ONNX Runtime's wheel for ARM ends at its import under this emulator, so nothing is converted or verified there:
SavedModels that were converted here are run there, and judged by the stored float64 references.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from importlib.metadata import version

from tests.machines.models import CACHE, FOLDER, failures
from tests.machines.settings import ROOT, print_failures

__all__ = ["main"]

PLACE = CACHE / "arm"
DEBIAN = (
    "python3.11-minimal",
    "libpython3.11-minimal",
    "libpython3.11-stdlib",
    "python3.11",
    "libc6",
    "libgcc-s1",
    "libstdc++6",
    "zlib1g",
    "libssl3",
    "libffi8",
    "libexpat1",
    "libbz2-1.0",
    "liblzma5",
    "libsqlite3-0",
    "libuuid1",
    "libcrypt1",
)
ALONE = ("onnx", "onnx-ir", "sympy", "mpmath", "rich", "typer", "markdown-it-py", "mdurl", "pygments")
"""Packages that are installed without what they ask for: TensorFlow brings the rest."""


def install() -> None:
    """Lay Python and TensorFlow for ARM, in the versions of this environment, into one folder."""
    if (PLACE / "ready").exists():
        return
    shutil.rmtree(PLACE, ignore_errors=True)
    (PLACE / "debs").mkdir(parents=True)
    subprocess.run(
        ["apt-get", "download", "-qq", *(f"{name}:arm64" for name in DEBIAN)], cwd=PLACE / "debs", check=True
    )
    for package in sorted((PLACE / "debs").glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", str(package), str(PLACE / "root")], check=True)
    _pip(f"tensorflow=={version('tensorflow')}", f"numpy=={version('numpy')}")
    _pip("--no-deps", *(f"{name}=={version(name)}" for name in ALONE))
    (PLACE / "ready").touch()


def _pip(*wanted: str) -> None:
    wheels = [word for tag in ("2_17", "2_26", "2_27", "2_28") for word in ("--platform", f"manylinux_{tag}_aarch64")]
    wheels += ["--platform", "manylinux2014_aarch64", "--python-version", "3.11", "--only-binary=:all:"]
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-compile", "--target", str(PLACE / "site")]
    subprocess.run([*command, *wheels, *wanted], check=True)


def emulated(names: list[str]) -> int:
    """Run this module under the emulator; return its exit code."""
    root = PLACE / "root"
    libraries = [str(root / part / "aarch64-linux-gnu") for part in ("lib", "usr/lib")]
    variables = {
        "PYTHONHOME": str(root / "usr"),
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(PLACE / "site")]),
        "LD_LIBRARY_PATH": os.pathsep.join(libraries),
        "TRUEPORT_MACHINES": str(FOLDER),
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    settings = [word for name, value in variables.items() for word in ("-E", f"{name}={value}")]
    python = str(root / "usr" / "bin" / "python3.11")
    command = ["qemu-aarch64", "-L", str(root), *settings, python, "-m", "tests.machines.arm", *names]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def main(names: list[str]) -> int:
    """Install and run under the emulator; there, judge every model and print what fails."""
    if platform.machine() == "aarch64":
        return print_failures(failures(names))
    install()
    return emulated(names)


if __name__ == "__main__":
    raise SystemExit(bool(main(sys.argv[1:])))
