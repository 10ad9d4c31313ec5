"""Words that are found by their hashes: which words a hash is compared with, read off the graph that uses it.

``SelectV2(keys[at] == text, places[at], missing)`` with ``at`` bisected among the sorted hashes of the keys: the hash
of a text that is no key is never looked at, so that a table of the keys' hashes serves as well as the function.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trueport.frontends.tensorflow._tf import tf
from trueport.frontends.tensorflow.source.eager import run_operation
from trueport.frontends.tensorflow.translate.folding import static_value

__all__ = ["searched_keys"]

_POSITION = ("Reshape", "Minimum", "Identity")


def searched_keys(operation: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """The keys that hashed texts are compared with, and their hashes; None where hashes are used in another way."""
    text = operation.inputs[0]
    searches = _through(operation.outputs[0], ("Reshape", "Identity"))
    if len(searches) != 1 or searches[0].type != "LowerBound":
        return None
    picks = _through(searches[0].outputs[0], _POSITION)
    words = [pick for pick in picks if pick.type == "GatherV2" and pick.inputs[0].dtype == tf.string]
    keys = static_value(words[0].inputs[0]) if len(words) == 1 else None
    hashes = static_value(searches[0].inputs[0])
    if keys is None or hashes is None or not _is_masked(words[0], picks, text):
        return None
    (own,) = run_operation(operation, [tf.constant(keys)])
    return (keys, own.numpy()) if np.array_equal(own.numpy(), hashes.ravel()) else None


def _is_masked(word: Any, picks: list[Any], text: Any) -> bool:
    """Whether what stands at a position is used only where the key there is the text itself."""
    (hit,) = users if len(users := word.outputs[0].consumers()) == 1 else (None,)
    if hit is None or hit.type != "Equal" or all(tensor is not text for tensor in hit.inputs):
        return False
    chosen = [user for pick in picks if pick is not word for user in pick.outputs[0].consumers()]
    taken = [pick.outputs[0].name for pick in picks if pick.type == "GatherV2"]
    return len(taken) == len(picks) and all(
        user.type == "SelectV2" and user.inputs[0].op is hit and user.inputs[1].name in taken for user in chosen
    )


def _through(tensor: Any, kinds: tuple[str, ...]) -> list[Any]:
    """Operations that use a tensor's numbers, looking through those of some kinds."""
    found = []
    for user in tensor.consumers():
        if user.type != "Shape":
            found += _through(user.outputs[0], kinds) if user.type in kinds else [user]
    return found
