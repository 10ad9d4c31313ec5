"""Faults in entries of tables that ordinary inputs do not look up, and in rare strings."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import numpy as np

from bench.faults.hidden.fault import HiddenFault
from bench.faults.hidden.inputs import make_weight
from bench.faults.pairs.graph import Graph, Two, Value, make_two

__all__ = ["TABLE_FAULTS"]


def _postal_codes(folder: Path) -> Two:
    keys, right = [7, 120, 10001, 33109, 60601, 90210, 94105], [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5]
    wrong = [*right[:5], right[6], right[5]]

    def write(values: list[float]) -> Any:
        g = Graph()
        x = g.input("code", ["N"], np.int64)
        attributes: dict[str, Any] = {"keys_int64s": keys, "values_floats": values, "default_float": -1.0}
        return g.finish(g.add("LabelEncoder", x, domain="ai.onnx.ml", **attributes), kinds=[np.float32])

    return write(right), write(wrong)


def _rows_behind_mod(folder: Path) -> Two:
    table = make_weight(997, 3)
    wrong = table.copy()
    wrong[613] = 0

    def write(g: Graph, ids: str, rows: np.ndarray) -> Value:
        bucket = g.Mod(g.Add(g.Mul(ids, np.int64(7)), np.int64(3)), np.int64(997))
        return g.Gather(g.store(rows), bucket, axis=0)

    return make_two(
        {"ids": ["N"]},
        lambda g, ids: write(g, ids, table),
        lambda g, ids: write(g, ids, wrong),
        dtypes={"ids": np.int64},
    )


def _rows_behind_sub(folder: Path) -> Two:
    table = make_weight(200, 2)
    wrong = table.copy()
    wrong[138:] = table[137]

    def write(g: Graph, year: str, rows: np.ndarray) -> Value:
        row = g.Clip(g.Sub(year, np.int64(1900)), np.int64(0), np.int64(199))
        return g.Gather(g.store(rows), row, axis=0)

    return make_two(
        {"year": ["N"]},
        lambda g, year: write(g, year, table),
        lambda g, year: write(g, year, wrong),
        dtypes={"year": np.int64},
    )


def _far_rows(folder: Path) -> tuple[Any, Any]:
    import torch

    table = make_weight(5000, 4)
    wrong = table.copy()
    wrong[4096:] = 0

    def make(rows: np.ndarray) -> Any:
        return torch.nn.Sequential(torch.nn.Embedding.from_pretrained(torch.from_numpy(rows)), torch.nn.Tanh()).eval()

    return make(table), make(wrong)


def _example_ids() -> dict[str, Any]:
    import torch

    return {"example_inputs": (torch.tensor([[1, 2, 3]]),)}


def _negative_indices(folder: Path) -> Two:
    table = make_weight(10, 3)

    def write(g: Graph, ids: str, low: int) -> Value:
        return g.Gather(g.store(table), g.Clip(ids, np.int64(low), np.int64(9)), axis=0)

    return make_two(
        {"ids": ["N"]}, lambda g, ids: write(g, ids, -10), lambda g, ids: write(g, ids, 0), dtypes={"ids": np.int64}
    )


def _composed_key(folder: Path) -> Two:
    keys = ["France", "Réunion", "Mayotte", "Guyane"]

    def write(known: list[str]) -> Any:
        g = Graph()
        x = g.input("region", ["N"], str)
        attributes: dict[str, Any] = {"keys_strings": known, "values_int64s": [0, 1, 2, 3], "default_int64": -1}
        return g.finish(g.add("LabelEncoder", x, domain="ai.onnx.ml", **attributes), kinds=[np.int64])

    return write(keys), write([unicodedata.normalize("NFD", key) for key in keys])


TABLE_FAULTS = (
    HiddenFault(
        "tables",
        "postal_codes",
        "two values of a LabelEncoder are exchanged, those of the keys 90210 and 94105",
        _postal_codes,
        lambda: {"code": np.array([90210])},
        lambda: {"code": np.array([0, 7, 3])},
    ),
    HiddenFault(
        "tables",
        "rows_behind_mod",
        "row 613 of a table is zero; its bucket is (7 id + 3) mod 997",
        _rows_behind_mod,
        lambda: {"ids": np.array([372])},
        lambda: {"ids": np.array([0, 5, 49])},
    ),
    HiddenFault(
        "tables",
        "rows_behind_sub",
        "rows of years from 2038 on repeat that of 2037",
        _rows_behind_sub,
        lambda: {"year": np.array([2040])},
        lambda: {"year": np.array([0, 12, 1999])},
    ),
    HiddenFault(
        "tables",
        "far_rows",
        "rows of an embedding from 4096 on are zero",
        _far_rows,
        lambda: {"ids": np.array([[4999, 1, 2]])},
        lambda: {"ids": np.array([[0, 5, 49]])},
        _example_ids,
    ),
    HiddenFault(
        "tables",
        "negative_indices",
        "negative indices of a Gather are clipped to zero",
        _negative_indices,
        lambda: {"ids": np.array([-1, -10])},
        lambda: {"ids": np.array([0, 9])},
    ),
    HiddenFault(
        "strings",
        "composed_key",
        "a key with an accent is stored in decomposed form, so that it is not found",
        _composed_key,
        lambda: {"region": np.array(["Réunion"], object)},
        lambda: {"region": np.array(["France", "Guyane", "a"], object)},
    ),
)
