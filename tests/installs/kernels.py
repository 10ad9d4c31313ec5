"""The stored table of ONNX Runtime's kernels: ``python -m tests.installs.kernels write`` makes it."""

from __future__ import annotations

import json
import sys

import onnxruntime

from trueport.runtimes.ort_kernels import FILE, as_plain, listed_kernels

__all__ = ["text"]


def text() -> str:
    """What the file should hold for the installed ONNX Runtime; one line per kernel, so that changes can be read."""
    held = as_plain(listed_kernels(), onnxruntime.__version__)
    types = ",\n".join(json.dumps(names) for names in held["types"])
    rows = ",\n".join(json.dumps(row) for row in held["kernels"])
    return f'{{"onnxruntime": {json.dumps(held["onnxruntime"])},\n"types": [\n{types}\n],\n"kernels": [\n{rows}\n]}}\n'


if __name__ == "__main__" and sys.argv[1:] == ["write"]:
    FILE.write_text(text(), encoding="utf-8")
