"""A SavedModel as a TFLite file, by TensorFlow's own converter: its own operators only, nothing quantized unasked."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from trueport.errors import ConversionError
from trueport.lazy import LazyModule
from trueport.quiet import tensorflow_lines_hidden
from trueport.quoting import one_line

__all__ = ["write_tflite"]

tf: Any = LazyModule("tensorflow", "TensorFlow", "tensorflow")

_NEEDED = re.compile(r"tf\.([A-Z]\w+\([^)]*\))")
"""An operator with its types, in the list that ends the converter's message."""


def write_tflite(saved_model: Path, place: Path) -> None:
    """Convert; operators that TFLite does not have come in one error."""
    converter = tf.lite.TFLiteConverter.from_saved_model(str(saved_model))
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
    try:
        with tensorflow_lines_hidden():
            content = converter.convert()
    except Exception as error:  # the converter's own types, which are not public
        missing = sorted(set(_NEEDED.findall(str(error))))
        why = f"TFLite has no {', '.join(missing)}" if missing else one_line(error, 300)
        raise ConversionError(
            f"TensorFlow's converter refuses it: {why}",
            where="the TFLite model",
            remedy="write a SavedModel instead, or replace these operators in the source",
        ) from error
    place.write_bytes(content)
