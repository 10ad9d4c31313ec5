"""Small models that show a limit, written in ONNX's text form and parsed only when they are asked for."""

from __future__ import annotations

from collections.abc import Callable

import onnx
import onnx.parser

__all__ = ["example"]

_HEAD = '<ir_version: 10, opset_import: ["": 26, "com.microsoft": 1]> example'


def example(graph: str) -> Callable[[], onnx.ModelProto]:
    """A model of one graph, ``(inputs) => (outputs) <initializers> { nodes }``."""
    return lambda: onnx.parser.parse_model(_HEAD + graph)
