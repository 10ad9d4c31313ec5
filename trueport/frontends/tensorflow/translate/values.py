"""What stands for a TensorFlow tensor while its graph is translated: mostly an ONNX value, sometimes more than one.

ir.Value    a tensor
Pair        a complex tensor: its real and its imaginary part
Resource    the handle of a variable or of a lookup table
Listing     a TensorList: the rows of a tensor, single values, or an ONNX sequence
Opaque      a handle that has no form in ONNX; only an operator that uses it is refused
Unknown     the result of an operation that was refused: what depends on it is only assessed
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.formulas.pairs import Pair

__all__ = ["Listing", "Opaque", "Pair", "Resource", "Translated", "Unknown"]


@dataclass
class Resource:
    """A variable or a table of the source, shared by all who hold its handle; read only when it is used."""

    name: str
    handle: Any
    """TensorFlow's eager handle; None for one that the graph itself makes"""
    value: ir.Value | None = None
    """a variable's value at this point of the program, once it was read or written"""
    written: bool = False
    outer: Resource | None = None
    """the same variable in the graph around the branch or the loop that this one is in"""
    graph: Any = None
    """the graph of that branch or loop, the only one that may set it; None in the main graph"""
    table: tuple[np.ndarray, np.ndarray] | None = None
    """a table's keys and values, once they were read"""


@dataclass(frozen=True)
class Listing:
    """A list of tensors of one element type: ``stacked``, a ``sequence``, or single ``elements``."""

    dtype: ir.DataType
    shape: tuple[int | None, ...] | None = None
    """what was declared of the elements' shape; None for an unknown rank"""
    stacked: ir.Value | None = None
    """its rows are the elements"""
    sequence: ir.Value | None = None
    """an ONNX sequence"""
    elements: tuple[ir.Value | None, ...] | None = None
    """single values, None where nothing was written yet"""
    count: ir.Value | None = None
    """how many there are in all, where that is computed: ``elements`` are the first, the others were not written"""


@dataclass(frozen=True)
class Opaque:
    """A handle that ONNX has no word for."""

    what: str


@dataclass(frozen=True)
class Unknown:
    """Nothing is known of it: what makes it was refused."""


Translated = ir.Value | Pair | Resource | Listing | Opaque | Unknown
