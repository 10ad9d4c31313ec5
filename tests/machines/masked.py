"""ONNX Runtime as it runs on a CPU with AVX2 and nothing newer, at full speed.

It asks the CPU for its features by the CPUID instruction, and has no setting to overrule the answer. So a copy of its
library is made in which every CPUID is an undefined instruction of the same length; the handler of the signal that
this raises answers in its place, without AVX-512, VNNI and AMX. Needs gcc and objdump, and Linux on x86-64.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

__all__ = ["environment", "why_not"]

_CPUID, _UNDEFINED = b"\x0f\xa2", b"\x0f\x0b"
_HANDLER = r"""
#define _GNU_SOURCE
#include <cpuid.h>
#include <dlfcn.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

typedef int (*sigaction_t)(int, const struct sigaction *, struct sigaction *);

static void answer(int number, siginfo_t *info, void *context) {
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    unsigned char *at = (unsigned char *)r[REG_RIP];
    if (at[0] != 0x0f || at[1] != 0x0b) { signal(SIGILL, SIG_DFL); return; }
    unsigned leaf = r[REG_RAX], sub = r[REG_RCX], a, b, c, d;
    __cpuid_count(leaf, sub, a, b, c, d);
    if (leaf == 7 && sub == 0) {
        b &= ~(1u << 16 | 1u << 17 | 1u << 21 | 1u << 26 | 1u << 27 | 1u << 28 | 1u << 30 | 1u << 31); /* AVX-512 */
        c &= ~(1u << 1 | 1u << 6 | 1u << 8 | 1u << 9 | 1u << 10 | 1u << 11 | 1u << 12 | 1u << 14);     /* VNNI, … */
        d &= ~(1u << 2 | 1u << 3 | 1u << 8 | 1u << 22 | 1u << 23 | 1u << 24 | 1u << 25);               /* AMX, … */
    }
    if (leaf == 7 && sub == 1) {
        a &= ~(1u << 4 | 1u << 5 | 1u << 21 | 1u << 23); /* AVX-VNNI, BF16 */
        d &= ~(1u << 4 | 1u << 5 | 1u << 10 | 1u << 19);
    }
    r[REG_RAX] = a; r[REG_RBX] = b; r[REG_RCX] = c; r[REG_RDX] = d; r[REG_RIP] += 2;
}

static sigaction_t next(void) { return (sigaction_t)dlsym(RTLD_NEXT, "sigaction"); }

__attribute__((constructor)) static void install(void) {
    struct sigaction ours;
    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = answer;
    ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    next()(SIGILL, &ours, 0);
}

/* Python's faulthandler would take the signal. */
int sigaction(int number, const struct sigaction *new, struct sigaction *old) {
    if (number != SIGILL) return next()(number, new, old);
    if (old) memset(old, 0, sizeof *old);
    return 0;
}
"""


def why_not() -> str:
    """Return what is missing here, or an empty string."""
    missing = [tool for tool in ("gcc", "objdump", "readelf") if shutil.which(tool) is None]
    return f"{', '.join(missing)} not found" if missing else ""


def environment(folder: Path) -> dict[str, str]:
    """Make the copy and the handler in a folder, once; return the variables under which Python uses them."""
    handler = folder / "cpuid.so"
    if not handler.exists():
        found = importlib.util.find_spec("onnxruntime")
        assert found is not None and found.origin is not None
        source = folder / "cpuid.c"
        folder.mkdir(parents=True, exist_ok=True)
        source.write_text(_HANDLER, encoding="utf-8")
        shutil.copytree(Path(found.origin).parent, folder / "onnxruntime", dirs_exist_ok=True)
        for library in (folder / "onnxruntime" / "capi").glob("onnxruntime_pybind11_state*.so"):
            _patch(library)
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", handler, source, "-ldl"], check=True)
    return {"LD_PRELOAD": str(handler), "PYTHONPATH": str(folder)}


def _patch(library: Path) -> None:
    segments = [
        [int(number, 16) for number in found.groups()]
        for found in re.finditer(r"LOAD\s+(0x\w+)\s+(0x\w+)\s+0x\w+\s+(0x\w+)", _run("readelf", "-lW", str(library)))
    ]
    listing = _run("objdump", "-d", "--no-show-raw-insn", str(library))
    addresses = [int(found[1], 16) for found in re.finditer(r"^ *([0-9a-f]+):\s+cpuid\b", listing, re.MULTILINE)]
    assert addresses, "the library asks for no features"
    content = bytearray(library.read_bytes())
    for address in addresses:
        offset = next(begin + address - at for begin, at, size in segments if at <= address < at + size)
        assert content[offset : offset + 2] == _CPUID
        content[offset : offset + 2] = _UNDEFINED
    library.write_bytes(content)


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
