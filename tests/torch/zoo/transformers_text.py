"""Architectures of transformers that read and write text, tiny and with random weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import transformers
from torch import Tensor, nn

from tests.torch.operators.draws import indices, normal
from tests.torch.zoo.member import Member

__all__ = ["MEMBERS"]

_WORDS = 50
_SMALL = {
    "vocab_size": _WORDS,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 40,
    "pad_token_id": 1,
}


def ids(n: int) -> dict[str, Tensor]:
    """Words in a batch, none of them the one that pads."""
    return {"input_ids": indices(n, n + 4, below=_WORDS - 2) + 2}


def masked(n: int) -> dict[str, Tensor]:
    """Words of which the last of each row after the first are not to be looked at."""
    mask = torch.ones(n, n + 4, dtype=torch.int64)
    mask[1:, -2:] = 0
    return {**ids(n), "attention_mask": mask}


def built(kind: str, model: str = "", **options: Any) -> Callable[[], Any]:
    """A network of an architecture's plain model, or of another one of its classes."""

    def make() -> Any:
        config = getattr(transformers, f"{kind}Config")(**options)
        return getattr(transformers, model or f"{kind}Model")(config)

    return make


def _encoder(kind: str, model: str = "", inputs: Callable[[int], Any] = masked, **options: Any) -> Member:
    return Member(model or kind, built(kind, model, **{**_SMALL, **options}), inputs)


def _decoder(kind: str, **options: Any) -> Member:
    more = {"num_key_value_heads": 1, "head_dim": 8, "use_cache": False, **options}
    return Member(f"{kind}ForCausalLM", built(kind, f"{kind}ForCausalLM", **{**_SMALL, **more}), ids)


class WithCache(nn.Module):
    """A decoder that is handed the keys and values of what it has read, and gives back the new ones."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def forward(self, input_ids: Tensor, past: list[tuple[Tensor, Tensor]]) -> dict[str, Any]:
        cache = transformers.DynamicCache()
        for layer, (keys, values) in enumerate(past):
            cache.update(keys, values, layer)
        found = self.network(input_ids=input_ids, past_key_values=cache, use_cache=True)
        present = [(layer.keys, layer.values) for layer in found.past_key_values.layers]
        return {"logits": found.logits, "present": present}


def _with_cache(kind: str, heads: int, **options: Any) -> Member:
    network = built(kind, f"{kind}ForCausalLM", **{**_SMALL, **options})

    def inputs(n: int) -> tuple[Any, ...]:
        past = [tuple(normal(n, heads, n + 5, 8, seed=2 * layer + part) for part in (0, 1)) for layer in (0, 1)]
        return indices(n, n + 1, below=_WORDS), past

    return Member(f"{kind}ForCausalLM with a cache", lambda: WithCache(network()), inputs)


def _both(kind: str, **options: Any) -> Member:
    def inputs(n: int) -> dict[str, Tensor]:
        return {**masked(n), "decoder_input_ids": indices(n, n + 2, below=_WORDS - 2, seed=1) + 2}

    return Member(kind, built(kind, vocab_size=_WORDS, pad_token_id=1, use_cache=False, **options), inputs)


_DISTIL = {
    "vocab_size": _WORDS,
    "dim": 16,
    "hidden_dim": 32,
    "n_layers": 2,
    "n_heads": 2,
    "max_position_embeddings": 40,
}
_GPT2 = {"vocab_size": _WORDS, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 40}
_BART = {
    "d_model": 16,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 32,
    "decoder_ffn_dim": 32,
    "max_position_embeddings": 40,
}
_EXPERTS = {"num_experts_per_tok": 2, "output_router_logits": False, "experts_implementation": "batched_mm"}

MEMBERS: list[Member] = [
    _encoder("Bert"),
    _encoder("Bert", "BertForMaskedLM"),
    _encoder("Roberta", "RobertaForSequenceClassification"),
    Member("DistilBert", built("DistilBert", **_DISTIL), masked),
    _encoder("Albert", embedding_size=8),
    _encoder("Electra", "ElectraForTokenClassification", embedding_size=8),
    _encoder("DebertaV2", relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=8),
    _encoder("ModernBert", global_attn_every_n_layers=2, local_attention=4, cls_token_id=2, sep_token_id=3),
    _encoder("MPNet"),
    Member("GPT2LMHeadModel", built("GPT2", "GPT2LMHeadModel", **_GPT2, use_cache=False), ids),
    _decoder("Llama"),
    _decoder("Mistral", sliding_window=4),
    _decoder("Qwen2"),
    _decoder("Qwen3"),
    _decoder("Gemma"),
    _decoder("Gemma2", sliding_window=4),
    _decoder("OPT", ffn_dim=32, word_embed_proj_dim=16),
    _decoder("GPTNeoX"),
    Member(
        "BloomForCausalLM",
        built("Bloom", "BloomForCausalLM", vocab_size=_WORDS, hidden_size=16, n_layer=2, n_head=2, use_cache=False),
        masked,
    ),
    _decoder("Phi"),
    Member(
        "FalconForCausalLM",
        built(
            "Falcon",
            "FalconForCausalLM",
            vocab_size=_WORDS,
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            bias=False,
            use_cache=False,
        ),
        ids,
    ),
    _with_cache("Llama", 1, num_key_value_heads=1),
    Member(
        "GPT2LMHeadModel with a cache",
        lambda: WithCache(built("GPT2", "GPT2LMHeadModel", **_GPT2)()),
        lambda n: (
            indices(n, n + 1, below=_WORDS),
            [tuple(normal(n, 2, n + 5, 8, seed=2 * layer + part) for part in (0, 1)) for layer in (0, 1)],
        ),
    ),
    _both("T5", d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2, decoder_start_token_id=1),
    _both("Bart", **_BART),
    _both("Marian", **_BART, decoder_start_token_id=1),
    _decoder("Mixtral", num_local_experts=3, **_EXPERTS),
    _decoder("Qwen2Moe", num_experts=3, moe_intermediate_size=16, shared_expert_intermediate_size=16, **_EXPERTS),
    Member(
        "MambaForCausalLM",
        built(
            "Mamba",
            "MambaForCausalLM",
            vocab_size=_WORDS,
            hidden_size=16,
            state_size=4,
            num_hidden_layers=1,
            time_step_rank=4,
            use_cache=False,
            use_mambapy=False,
        ),
        lambda n: {"input_ids": indices(n, 6, below=_WORDS)},
    ),
]
