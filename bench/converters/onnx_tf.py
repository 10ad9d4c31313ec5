"""``python onnx_tf.py MODEL FOLDER RESULT``: one conversion in a fresh process of onnx-tf's environment."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path


def main(model: str, folder: str, result: str) -> None:
    # This file has the package's name: the folder it lies in must not be searched.
    sys.path.pop(0)
    import onnx
    from onnx_tf.backend import prepare

    start, worked = time.perf_counter(), time.process_time()
    prepare(onnx.load(model)).export_graph(folder)
    Path(result).write_text(json.dumps({"seconds": time.perf_counter() - start, "cpu": time.process_time() - worked}))


if __name__ == "__main__":
    main(*sys.argv[1:])
