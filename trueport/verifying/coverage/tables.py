"""Branches, loops, rows of tables, keys and trees: which of many cases came up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.verifying.coverage.count import Aim, Arrays, Count
from trueport.verifying.coverage.trees import Trees, read_trees

__all__ = ["FAMILIES", "TRIPS", "Leaves"]

_MOST_ROWS = 1 << 16
_MOST_TRIPS = 256
TRIPS = "trips"
"""The key of a loop's count, which only its own evaluation knows."""


class Branch:
    """If: both branches."""

    def operand(self, node: ir.Node) -> Sequence[int]:
        return (0,)

    def count(self, node: ir.Node, inputs: Arrays, results: Arrays) -> Count | None:
        taken = bool(np.all(inputs[0]))
        return Count("branch", ("then", "else"), np.array([taken, not taken]))

    def aims(self, node: ir.Node, inputs: Arrays, missing: Sequence[int], exact: bool) -> list[Aim]:
        return [Aim(0, (np.array(part == 0),)) for part in missing]


class Trips:
    """Loop: no step, one, more, and as many as a bound before it allows."""

    def operand(self, node: ir.Node) -> Sequence[int]:
        return (0, 1)

    def count(self, node: ir.Node, inputs: Arrays, results: Arrays) -> Count | None:
        made = int(results[-1])
        return Count("trips", ("0 steps", "1 step", "more steps"), np.array([made == 0, made == 1, made > 1]))

    def aims(self, node: ir.Node, inputs: Arrays, missing: Sequence[int], exact: bool) -> list[Aim]:
        steps = [Aim(0, (np.asarray((0, 1, 3)[part]),)) for part in missing if inputs[0] is not None]
        return [*steps, *(Aim(1, (np.array(False),)) for part in missing if part == 0 and len(inputs) > 1)]


class Rows:
    """Gather and its kin: the positions that were read along the axis."""

    def operand(self, node: ir.Node) -> Sequence[int]:
        return (1,)

    def count(self, node: ir.Node, inputs: Arrays, results: Arrays) -> Count | None:
        size = _table_size(node, inputs)
        indices = np.asarray(inputs[1]).ravel()
        if size is None or indices.dtype.kind not in "iu":
            return None
        hit = np.zeros(size, bool)
        valid = indices[(indices >= -size) & (indices < size)].astype(np.int64)
        hit[valid % size] = True
        return Count("rows", _Numbers("row", size), hit)

    def aims(self, node: ir.Node, inputs: Arrays, missing: Sequence[int], exact: bool) -> list[Aim]:
        return [Aim(1, tuple(np.asarray(part) for part in missing))]


def _table_size(node: ir.Node, inputs: Arrays) -> int | None:
    data = np.asarray(inputs[0])
    axis = node.attributes["axis"].as_int() if "axis" in node.attributes else 0
    constant = node.inputs[0] is not None and node.inputs[0].const_value is not None
    if not constant or not data.ndim or not 1 < data.shape[axis] <= _MOST_ROWS:
        return None
    return int(data.shape[axis])


class Keys:
    """LabelEncoder: each key, and a value that is none of them."""

    def operand(self, node: ir.Node) -> Sequence[int]:
        return (0,)

    def count(self, node: ir.Node, inputs: Arrays, results: Arrays) -> Count | None:
        keys = label_keys(node)
        if keys is None:
            return None
        x = np.asarray(inputs[0]).ravel()
        hit = [bool(np.any(x == key)) for key in keys]
        other = bool(np.any(~np.isin(x, keys))) if x.dtype.kind != "O" else bool(set(x.tolist()) - set(keys.tolist()))
        return Count("keys", [*(str(key) for key in keys), "no key"], np.array([*hit, other]))

    def aims(self, node: ir.Node, inputs: Arrays, missing: Sequence[int], exact: bool) -> list[Aim]:
        keys = label_keys(node)
        if keys is None:
            return []
        other = "no such key" if keys.dtype.kind == "O" else keys.max() + 1
        return [Aim(0, tuple(np.asarray(keys[part] if part < len(keys) else other, keys.dtype) for part in missing))]


def label_keys(node: ir.Node) -> np.ndarray | None:
    """Return the keys of a LabelEncoder or CategoryMapper; None where they are not given so."""
    for name, dtype in (("keys_int64s", "int64"), ("keys_floats", "float64"), ("keys_strings", "O")):
        if name in node.attributes:
            found = node.attributes[name].value
            return np.array([_text(key) for key in found], dtype)
    if "keys_tensor" in node.attributes:
        keys = np.asarray(node.attributes["keys_tensor"].as_tensor().numpy()).ravel()
        return keys if keys.dtype.kind not in "OS" else np.array([_text(key) for key in keys.tolist()], object)
    names = {"CategoryMapper": ("cats_int64s", "cats_strings")}.get(node.op_type)
    reads = node.inputs[0].dtype if names and node.inputs[0] is not None else None
    if not names or any(name not in node.attributes for name in names) or reads is None:
        return None
    text = reads == ir.DataType.STRING
    return np.array([_text(key) for key in node.attributes[names[text]].value], "O" if text else "int64")


def _text(key: Any) -> Any:
    return key.decode() if isinstance(key, bytes) else key


class Leaves:
    """Tree ensembles: the leaves that rows ended in."""

    def operand(self, node: ir.Node) -> Sequence[int]:
        return (0,)

    def count(self, node: ir.Node, inputs: Arrays, results: Arrays) -> Count | None:
        trees, x = read_trees(node), np.asarray(inputs[0])
        if trees is None or x.dtype.kind not in "fiu" or x.ndim > 2:
            return None
        hit = trees.reached(np.atleast_2d(x))
        return Count("leaves", _Numbers("leaf", len(hit)), hit)

    def aims(self, node: ir.Node, inputs: Arrays, missing: Sequence[int], exact: bool) -> list[Aim]:
        trees: Trees | None = read_trees(node)
        if trees is None:
            return []
        around = np.atleast_2d(np.asarray(inputs[0]).astype(np.float64))
        return [Aim(0, (trees.rows(missing, around, exact=exact),), rows=True)]


class _Numbers(Sequence[str]):
    """Names that are made when they are asked for: a table may have very many rows."""

    def __init__(self, word: str, size: int) -> None:
        self._word, self._size = word, size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [f"{self._word} {number}" for number in range(self._size)[index]]
        return f"{self._word} {index}"


FAMILIES: Mapping[tuple[str, str], Any] = {
    ("", "If"): Branch(),
    ("", "Loop"): Trips(),
    ("", "Gather"): Rows(),
    ("", "GatherElements"): Rows(),
    ("ai.onnx.ml", "LabelEncoder"): Keys(),
    ("ai.onnx.ml", "CategoryMapper"): Keys(),
    ("ai.onnx.ml", "TreeEnsemble"): Leaves(),
    ("ai.onnx.ml", "TreeEnsembleClassifier"): Leaves(),
    ("ai.onnx.ml", "TreeEnsembleRegressor"): Leaves(),
}
"""By domain and operator."""
