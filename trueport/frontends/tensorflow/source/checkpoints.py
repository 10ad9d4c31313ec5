"""A MetaGraph of TensorFlow 1 and the checkpoint beside it: model.meta, model.index, model.data-…"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError

from trueport.consent.tensorflow_files import check_graph_def
from trueport.errors import InvalidModel, UsageError
from trueport.frontends.tensorflow._tf import tf
from trueport.ir.files import check_regular
from trueport.quoting import one_line

__all__ = ["frozen_meta_graph"]

_FAILURES = (DecodeError, AttributeError, KeyError, TypeError, ValueError, AssertionError)
"""What TensorFlow raises for a MetaGraph that is not whole."""


def frozen_meta_graph(path: Path, outputs: Sequence[str] | None, *, trust: bool) -> Any:
    """A GraphDef with the checkpoint's values in the place of variables, cut to what ``outputs`` depend on."""
    if not outputs:
        raise UsageError(
            "a MetaGraph also holds what trains and saves the model, and does not say which tensors are its outputs",
            where=str(path),
            remedy="name them: --inputs x:0 --outputs y:0",
        )
    check_regular(path)
    prefix = path.with_suffix("")
    if not prefix.with_name(f"{prefix.name}.index").is_file():
        raise InvalidModel(
            f"holds a graph without values, and {prefix.name}.index, its checkpoint, is not beside it",
            where=str(path),
            remedy="put model.index and model.data-… beside model.meta, or name a SavedModel or a frozen .pb file",
        )
    v1 = tf.compat.v1
    try:
        stored = v1.MetaGraphDef.FromString(path.read_bytes())
        if not trust:
            check_graph_def(stored.graph_def, outputs, path)
        with tf.Graph().as_default() as graph, v1.Session() as session:
            v1.train.import_meta_graph(stored, clear_devices=True).restore(session, str(prefix))
            names = [name.partition(":")[0] for name in outputs]
            return v1.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), names)
    except (*_FAILURES, tf.errors.OpError) as error:
        raise InvalidModel(
            f"TensorFlow can't restore it: {one_line(error, 200)}",
            where=str(path),
            remedy="save it as a SavedModel, or freeze it to a .pb file",
        ) from error
