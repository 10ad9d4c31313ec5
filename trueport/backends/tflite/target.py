"""TFLite files, by way of a SavedModel and TensorFlow's own converter: a chain of two targets."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any, ClassVar

from trueport.backends.tensorflow.target import BuiltModule, TensorflowTarget
from trueport.drawing.graph import Graph
from trueport.errors import ConversionError
from trueport.lazy import LazyModule
from trueport.quiet import tensorflow_lines_hidden
from trueport.quoting import one_line
from trueport.runtimes.base import Model
from trueport.runtimes.tflite import TfliteModel
from trueport.stages import Built, Ops, Plan, Program, Target

__all__ = ["BuiltTflite", "TfliteTarget"]

tf: Any = LazyModule("tensorflow", "TensorFlow", "tensorflow")

_NEEDED = re.compile(r"tf\.([A-Z]\w+\([^)]*\))")
"""An operator with its types, in the list that ends the converter's message."""


class TfliteTarget(Target):
    """The plan is that of the SavedModel; what is compared is the TFLite model."""

    form: ClassVar[str] = "tflite"

    def __init__(self, ops: Ops, options: Any) -> None:
        super().__init__(ops, options)
        self._first = TensorflowTarget(ops, options)
        self.registry = self._first.registry

    def plan(self, program: Program) -> Plan:
        return self._first.plan(program)

    def build(self, plan: Plan) -> BuiltTflite:
        first = self._first.build(plan)
        with tempfile.TemporaryDirectory() as folder:
            saved, made = Path(folder, "saved_model"), Path(folder, "model.tflite")
            first.write(saved)
            write_tflite(saved, made)
            return BuiltTflite(made.read_bytes(), first)


class BuiltTflite(Built):
    """A file's bytes, and the module that they were made from."""

    def __init__(self, content: bytes, first: BuiltModule) -> None:
        self.model = content
        held = TfliteModel(content)
        self.inputs, self.outputs = held.inputs, held.outputs
        self._first = first

    def write(self, place: Path) -> None:
        place.write_bytes(self.model)

    def run(self, written: Path | None = None) -> Model:
        return TfliteModel(self.model if written is None else written)

    def draw(self) -> Graph:
        """TensorFlow's graph, from which the file was made."""
        return self._first.draw()


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
