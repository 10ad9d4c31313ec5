"""TensorFlow's first use from four threads at once, while others write to stderr; then conversions by the library."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from tests.quiet_commands import write_onnx
from trueport import convert_file
from trueport.backends.tensorflow._tf import tf
from trueport.lazy import LazyModule

LINES = 200


def use_tensorflow(ready: threading.Barrier, results: list[float]) -> None:
    ready.wait()
    # A stand-in of its own: none has been told yet that TensorFlow is there.
    results.append(float(LazyModule("tensorflow", "TensorFlow", "tensorflow").constant(2.0).numpy()))


def write_lines(ready: threading.Barrier, done: threading.Event) -> None:
    ready.wait()
    for number in range(LINES):
        sys.stderr.write(f"print {number}\n")  # print() writes the end of the line by itself
        os.write(2, f"write {number}\n".encode())
        done.wait(0.02)  # they are to last as long as the load does


def main() -> None:
    ready, done = threading.Barrier(6), threading.Event()
    results: list[float] = []
    users = [threading.Thread(target=use_tensorflow, args=(ready, results)) for _ in range(4)]
    writers = [threading.Thread(target=write_lines, args=(ready, done)) for _ in range(2)]
    for thread in (*users, *writers):
        thread.start()
    for thread in users:
        thread.join()
    done.set()
    for thread in writers:
        thread.join()
    assert results == [2.0] * 4, results
    write_onnx("small.onnx", "Relu", [2, 3], [2, 3])
    # The library leaves TF_CPP_MIN_LOG_LEVEL as it is.
    convert_file("small.onnx", "saved")
    convert_file("saved", "back.onnx")
    convert_file("small.onnx", "small.tflite")
    assert "TF_CPP_MIN_LOG_LEVEL" not in os.environ
    assert tf.lite.__name__
    assert Path("small.tflite").is_file()


if __name__ == "__main__":
    main()
