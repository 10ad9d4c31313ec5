"""``python ours.py MODEL FOLDER RESULT``: one conversion in a fresh process."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path


def main(model: str, folder: str, result: str, verify: str = "") -> None:
    import tensorflow  # noqa: F401 - its import is part of the command's time, not of the function's

    from trueport import convert_file

    if folder.endswith(".onnx"):
        _load_operators()
    start, worked = time.perf_counter(), time.process_time()
    report = convert_file(model, folder, verify=bool(verify), overwrite=True)
    spent = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - worked}
    Path(result).write_text(json.dumps({**spent, "stages": dict(report.seconds)}))


def _load_operators() -> None:
    """Modules that are read at their first use; tf2onnx reads all of its own, and no runtime, when it is imported."""
    from trueport.frontends.tensorflow.registry import registry
    from trueport.passes.lower.adapt import DOWN

    registry()
    DOWN.adapters  # noqa: B018  # imports them


if __name__ == "__main__":
    main(*sys.argv[1:])
