"""Lookup tables: those that the source holds, and those that its graph makes and fills with constants."""

from __future__ import annotations

import math

import numpy as np
import onnx_ir as ir

from trueport.fidelity import BITWISE
from trueport.frontends.tensorflow.shared import lookup_tables as tables
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.frontends.tensorflow.translate.values import Resource, Translated
from trueport.frontends.tensorflow.translate.variables import read_table
from trueport.mapping.declare import maps

__all__: list[str] = []

_SHARED = {
    "container": "names where TensorFlow keeps it, not what it holds",
    "shared_name": "names where TensorFlow keeps it, not what it holds",
    "use_node_name_sharing": "names where TensorFlow keeps it, not what it holds",
}
_SPEED = {
    "initial_num_buckets": "a matter of speed",
    "max_load_factor": "a matter of speed",
}


@maps("HashTableV2", domain=TF, fidelity=BITWISE, ignores=_SHARED)
@maps("AnonymousHashTable", domain=TF, fidelity=BITWISE)
def hash_table(t: Translation, *, key_dtype: ir.DataType, value_dtype: ir.DataType) -> Resource:
    return tables.make(t, "AnonymousHashTable", key_dtype, value_dtype)


@maps("MutableHashTableV2", domain=TF, fidelity=BITWISE, ignores=_SHARED)
@maps("AnonymousMutableHashTable", domain=TF, fidelity=BITWISE)
def mutable_hash_table(t: Translation, *, key_dtype: ir.DataType, value_dtype: ir.DataType) -> Resource:
    return tables.make(t, "AnonymousMutableHashTable", key_dtype, value_dtype)


@maps("MutableHashTableOfTensorsV2", domain=TF, fidelity=BITWISE, ignores=_SHARED)
@maps("AnonymousMutableHashTableOfTensors", domain=TF, fidelity=BITWISE)
def table_of_tensors(
    t: Translation, *, key_dtype: ir.DataType, value_dtype: ir.DataType, value_shape: tuple[int, ...]
) -> Resource:
    return tables.make(t, "AnonymousMutableHashTableOfTensors", key_dtype, value_dtype, value_shape=list(value_shape))


@maps("MutableDenseHashTableV2", domain=TF, fidelity=BITWISE, ignores={**_SHARED, **_SPEED})
@maps("AnonymousMutableDenseHashTable", domain=TF, fidelity=BITWISE, ignores=_SPEED)
def dense_hash_table(
    t: Translation,
    empty_key: ir.Value,
    deleted_key: ir.Value,
    *,
    key_dtype: ir.DataType,
    value_dtype: ir.DataType,
    value_shape: tuple[int, ...],
) -> Resource:
    _need_single(t, t.rank(empty_key) == 0)
    # The two keys that must not be asked for are no part of what the table holds: an ordinary one holds the same.
    if not value_shape:
        return mutable_hash_table(t, key_dtype=key_dtype, value_dtype=value_dtype)
    return table_of_tensors(t, key_dtype=key_dtype, value_dtype=value_dtype, value_shape=value_shape)


def _need_single(t: Translation, single: bool) -> None:
    if not single:
        raise t.fail("its keys are vectors; ONNX's tables have single keys", "join each key's parts into one")


@maps("InitializeTableV2", domain=TF, fidelity=BITWISE)
@maps("LookupTableImportV2", domain=TF, fidelity=BITWISE)
@maps("LookupTableInsertV2", domain=TF, fidelity=BITWISE)
def fill_table(t: Translation, table_handle: Translated, keys: ir.Value, values: ir.Value) -> None:
    tables.change(t, table_handle, keys, values)


@maps("LookupTableRemoveV2", domain=TF, fidelity=BITWISE)
def remove(t: Translation, table_handle: Translated, keys: ir.Value) -> None:
    tables.change(t, table_handle, keys)


@maps("InitializeTableFromTextFileV2", domain=TF, fidelity=BITWISE)
def fill_from_file(
    t: Translation,
    table_handle: Translated,
    filename: ir.Value,
    *,
    key_index: int,
    value_index: int,
    vocab_size: int,
    delimiter: str,
    offset: int,
) -> None:
    tables.change(
        t,
        table_handle,
        filename,
        key_index=key_index,
        value_index=value_index,
        vocab_size=vocab_size,
        delimiter=delimiter,
        offset=offset,
    )


@maps("LookupTableFindV2", domain=TF, fidelity=BITWISE)
def find(
    t: Translation,
    table_handle: Translated,
    keys: ir.Value,
    default_value: ir.Value,
    *,
    Tin: ir.DataType,
    Tout: ir.DataType,
) -> ir.Value:
    known_keys, values = read_table(t, table_handle, Tin, Tout)
    _need_single(t, math.prod(known_keys.shape[1:]) == 1)  # a dense table gives single ones as rows of one
    return tables.looked_up(t, keys, known_keys.ravel(), values, default_value, Tout)


@maps("LookupTableSizeV2", domain=TF, fidelity=BITWISE)
def size(t: Translation, table_handle: Translated) -> ir.Value:
    return t.op.const(np.array(tables.table_size(t, table_handle)))


@maps("LookupTableExportV2", domain=TF, fidelity=BITWISE)
def export(
    t: Translation, table_handle: Translated, *, Tkeys: ir.DataType, Tvalues: ir.DataType
) -> tuple[ir.Value, ir.Value]:
    keys, values = read_table(t, table_handle, Tkeys, Tvalues)
    return t.op.const(keys), t.op.const(values)
