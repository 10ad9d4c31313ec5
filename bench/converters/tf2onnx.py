"""``python tf2onnx.py FOLDER MODEL RESULT``: one conversion in a fresh process of tf2onnx's environment."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path


def main(folder: str, model: str, result: str) -> None:
    # This file has the package's name: the folder it lies in must not be searched.
    sys.path.pop(0)
    from tf2onnx import convert

    # Its command line is the one way it offers from a SavedModel.
    sys.argv = ["tf2onnx", "--saved-model", folder, "--output", model]
    start, worked = time.perf_counter(), time.process_time()
    convert.main()
    spent = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - worked}
    Path(result).write_text(json.dumps(spent))


if __name__ == "__main__":
    main(*sys.argv[1:])
