"""Which runtime an artifact needs, by its form: extension and magic, never by trying."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir

from trueport.errors import InvalidModel, MissingDependency
from trueport.ir.files import check_regular
from trueport.ir.maps import to_proto
from trueport.ir.reading import read_whole
from trueport.mapping.declare import OpMapping
from trueport.quoting import one_line, plain_text
from trueport.requirements import require_to_run
from trueport.runtimes.base import Model
from trueport.runtimes.onnxruntime import OnnxRuntimeModel
from trueport.runtimes.reference import ReferenceModel
from trueport.runtimes.tensorflow import SavedModel
from trueport.runtimes.tflite import TfliteModel

__all__ = ["load_model", "load_sources"]


def load_model(
    path: str | Path, *, optimize: bool = True, exact_sums: bool = False, trust: bool = False, **settings: Any
) -> Model:
    """Open an artifact for running: an .onnx file, a .tflite file or a SavedModel's folder.

    ``optimize=False`` keeps ONNX Runtime from fusing nodes, which changes numbers (quantized ones too).
    ``exact_sums=True`` gives exact integer sums where ONNX Runtime saturates them on this CPU.
    ``trust=True`` lets operators of TensorFlow touch files, processes and the network.
    ``settings`` are those of the runtime: ``level`` and ``threads`` of ONNX Runtime, ``signature`` of a SavedModel, and
    ``signature``, ``kernels`` and ``threads`` of TFLite.
    """
    place = Path(path)
    if not place.exists():
        raise InvalidModel("there is no such file or folder", where=str(path))
    if not place.is_dir():
        check_regular(place)
    if (place / "saved_model.pb").is_file():
        require_to_run("tensorflow")
        return SavedModel(place, trust=trust, **settings)
    if place.is_file() and place.suffix == ".onnx":
        require_to_run("onnx")
        return OnnxRuntimeModel(place, optimize=optimize, exact_sums=exact_sums, **settings)
    if place.is_file() and place.suffix == ".tflite":
        require_to_run("tflite")
        return TfliteModel(place, trust=trust, **settings)
    raise InvalidModel(
        "is neither an .onnx or .tflite file nor a SavedModel",
        where=str(path),
        remedy="a SavedModel is a folder with saved_model.pb",
    )


def load_sources(source: Any, custom: Sequence[OpMapping] = ()) -> list[Model] | str:
    """An ONNX source in runtimes of its own: ONNX Runtime without and with fusions, or ONNX's reference where that
    one lacks an operator or an opset; the reason in words when neither runs it.

    ``custom``: declarations with a NumPy definition, for the reference.
    """
    proto = _proto(source)
    # Without fusions first: the graph as it is written is what the target must equal.
    models = [OnnxRuntimeModel(proto if proto is not None else source, optimize=fuse) for fuse in (False, True)]
    try:
        for model in models:
            model.prepare()
        return [*models]
    except MissingDependency as error:
        first = str(error)
    except InvalidModel as error:
        first = one_line(error.__cause__ or error, 200)
    try:
        return [ReferenceModel(proto if proto is not None else read_whole(Path(source)), custom)]
    except Exception as error:  # the evaluator raises many kinds for what it lacks
        return f"neither ONNX Runtime ({first}) nor the reference evaluator ({plain_text(error)[:200]}) runs the model"


def _proto(source: Any) -> onnx.ModelProto | None:
    if isinstance(source, ir.Model):
        return to_proto(source)
    return source if isinstance(source, onnx.ModelProto) else None
