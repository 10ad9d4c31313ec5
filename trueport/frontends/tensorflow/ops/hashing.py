"""Hashes of strings: of decimals and of known words alone, as ONNX has no way to the bytes of a string."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from trueport.fidelity import BITWISE
from trueport.formulas.farmhash import bucket, fingerprint_of_decimal
from trueport.frontends.tensorflow.shared.hashed_words import searched_keys
from trueport.frontends.tensorflow.shared.lookup_tables import looked_up
from trueport.frontends.tensorflow.source.nodes import TF
from trueport.frontends.tensorflow.translate.context import Translation
from trueport.ir.dtypes import INTEGERS
from trueport.mapping.declare import maps

__all__: list[str] = []

_UNSIGNED_LONG = ir.DataType.UINT64


@maps("StringToHashBucketFast", domain=TF, fidelity=BITWISE)
def string_to_hash_bucket_fast(t: Translation, input: ir.Value, *, num_buckets: int) -> ir.Value:
    number = _written_integer(input)
    if number is None:
        raise t.fail(
            "hashes strings; ONNX has no hash function and no operator that gives a string's bytes, and the hashes of "
            "onnxruntime-extensions are not TensorFlow's",
            "hash integers, look words up in a vocabulary, or hash before the model",
        )
    return bucket(t, fingerprint_of_decimal(t, number), num_buckets)


@maps("StringToHashBucketStrong", domain=TF, fidelity=BITWISE)
def string_to_hash_bucket_strong(t: Translation, input: ir.Value, *, num_buckets: int, key: list[int]) -> ir.Value:
    searched = searched_keys(t.node.operation)
    if searched is None:
        raise t.fail("hashes strings; ONNX has no hash function", "look words up in a vocabulary")
    return looked_up(t, input, *searched, t.op.const(np.array(-1)), ir.DataType.INT64)


def _written_integer(text: ir.Value) -> ir.Value | None:
    """The integer that a string is the decimal of, where it was written in this graph."""
    maker = text.producer()
    number = maker.inputs[0] if maker is not None and maker.op_type == "Cast" else None
    known = number is not None and number.dtype in INTEGERS and number.dtype != _UNSIGNED_LONG
    return number if known else None
