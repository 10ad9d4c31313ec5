"""``python onnx2tf.py MODEL FOLDER RESULT``: one conversion in a fresh process of onnx2tf's environment."""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path


def main(model: str, folder: str, result: str) -> None:
    # This file has the package's name: the folder it lies in must not be searched.
    sys.path.pop(0)
    import numpy as np
    import onnx2tf

    # It looks here for the pictures that it would otherwise download, and it rewrites the model that it is given.
    pictures = np.random.default_rng(0).random((20, 128, 128, 3), np.float32)
    np.save("calibration_image_sample_data_20x128x128x3_float32.npy", pictures)
    copied = shutil.copy(model, "model.onnx")

    start, worked = time.perf_counter(), time.process_time()
    onnx2tf.convert(input_onnx_file_path=copied, output_folder_path=folder, non_verbose=True, verbosity="error")
    Path(result).write_text(json.dumps({"seconds": time.perf_counter() - start, "cpu": time.process_time() - worked}))


if __name__ == "__main__":
    main(*sys.argv[1:])
