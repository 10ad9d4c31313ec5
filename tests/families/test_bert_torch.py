"""Encoders of the BERT family from PyTorch, tiny and with random weights, of fixed and of dynamic sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.cells import grid
from tests.torch.speed import one_registry
from tests.torch.zoo.transformers_text import built
from trueport.fidelity import Verdict
from trueport.pipeline import convert_file

_SMALL = {
    "vocab_size": 50,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 40,
    "pad_token_id": 1,
}
_DISTIL = {"vocab_size": 50, "dim": 16, "hidden_dim": 32, "n_layers": 2, "n_heads": 2, "max_position_embeddings": 40}
_RELATIVE = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]}
_NETWORKS: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "Bert": ("Bert", "", _SMALL),
    "Albert": ("Albert", "", {**_SMALL, "embedding_size": 8}),
    "Electra": ("Electra", "", {**_SMALL, "embedding_size": 8}),
    "Electra, discriminator": ("Electra", "ElectraForPreTraining", _SMALL),
    "DistilBert": ("DistilBert", "", _DISTIL),
    "DistilBert, sinusoidal": (
        "DistilBert",
        "DistilBertForQuestionAnswering",
        {**_DISTIL, "sinusoidal_pos_embds": True},
    ),
    "Roberta": ("Roberta", "", _SMALL),
    "Roberta, words": ("Roberta", "RobertaForMaskedLM", _SMALL),
    "Deberta": ("Deberta", "", _SMALL),
    "Deberta, relative": ("Deberta", "", {**_SMALL, **_RELATIVE}),
    "Deberta, talking heads": (
        "Deberta",
        "DebertaForTokenClassification",
        {**_SMALL, **_RELATIVE, "talking_head": True},
    ),
    "DebertaV2": ("DebertaV2", "", _SMALL),
    "DebertaV2, relative": ("DebertaV2", "", {**_SMALL, **_RELATIVE}),
    "DebertaV2, buckets": (
        "DebertaV2",
        "DebertaV2ForSequenceClassification",
        {**_SMALL, **_RELATIVE, "position_buckets": 4, "share_att_key": True, "conv_kernel_size": 3},
    ),
    "MPNet": ("MPNet", "", _SMALL),
    "MPNet, classes": ("MPNet", "MPNetForSequenceClassification", _SMALL),
}
_SIZES = ((2, 7), (3, 5), (1, 9))
"""batch and length: neither divides another one's"""


@pytest.fixture(autouse=True, scope="module")
def exporter_reads_its_library_once() -> Iterator[None]:
    with one_registry():
        yield


def _words(batch: int, length: int) -> dict[str, torch.Tensor]:
    """Words, none of which pads; the last two of all rows but the first are masked."""
    generator = torch.Generator().manual_seed(length)
    mask = torch.ones(batch, length, dtype=torch.int64)
    mask[1:, -2:] = 0
    return {"input_ids": torch.randint(2, 50, (batch, length), generator=generator), "attention_mask": mask}


@grid(
    {
        f"{name}, {'dynamic' if size is None else size}, {to}": (name, size, to)
        for name in _NETWORKS
        for size in (None, *_SIZES)
        for to in ("onnx", "tensorflow")
    },
    quick=2,
)
def test_encoders(cell: tuple[str, tuple[int, int] | None, str], tmp_path: Path) -> None:
    name, size, to = cell
    kind, model, options = _NETWORKS[name]
    torch.manual_seed(0)
    module = built(kind, model, **options)().eval()
    given = [_words(*each) for each in (_SIZES if size is None else (size,))]
    made = convert_file(
        module,
        tmp_path / ("model.onnx" if to == "onnx" else "saved"),
        data=[{key: tensor.numpy() for key, tensor in feeds.items()} for feeds in given],
        example_inputs=given[0],
        dynamic_shapes="input_ids.0=n,input_ids.1=m,attention_mask.0=n,attention_mask.1=m" if size is None else None,
    )
    assert made.comparison is not None and not made.comparison.rejected
    assert made.verdict == Verdict.FAITHFUL, str(made.comparison)
