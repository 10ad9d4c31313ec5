"""Runs SavedModels with TensorFlow alone, in a process of its own: ``python plain_runner.py FOLDER``.

FOLDER holds one folder per case: model/ and in.NAME files with serialized tensors; out.NAME files are written.
"""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import quote, unquote

import tensorflow as tf


def run(case: Path) -> None:
    loaded = tf.saved_model.load(str(case / "model"))
    signature = loaded.signatures["serving_default"]
    specs = signature.structured_input_signature[1]
    feeds = {}
    for file in case.glob("in.*"):
        name = unquote(file.name.removeprefix("in."))
        feeds[name] = tf.io.parse_tensor(file.read_bytes(), specs[name].dtype)
    for name, value in signature(**feeds).items():
        case.joinpath(f"out.{quote(name, safe='')}").write_bytes(tf.io.serialize_tensor(value).numpy())


def main() -> int:
    for case in sorted(Path(sys.argv[1]).iterdir()):
        run(case)
    if any(name.split(".")[0] == "trueport" for name in sys.modules):
        print("trueport was imported")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
