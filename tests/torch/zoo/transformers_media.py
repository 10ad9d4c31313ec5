"""Architectures of transformers that see and hear, tiny and with random weights."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from tests.torch.operators.draws import normal
from tests.torch.zoo.member import Member
from tests.torch.zoo.transformers_text import built, masked

__all__ = ["MEMBERS"]

_SMALL = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
_WAVES: dict[str, Any] = {
    **_SMALL,
    "conv_dim": (8, 8),
    "conv_kernel": (4, 3),
    "conv_stride": (2, 2),
    "num_feat_extract_layers": 2,
    "num_conv_pos_embeddings": 4,
    "num_conv_pos_embedding_groups": 2,
    "vocab_size": 12,
    "mask_time_prob": 0.0,
    "apply_spec_augment": False,
}
_STAGES = {"depths": [1, 1], "num_channels": 3}


def _pixels(side: int) -> Any:
    def inputs(n: int) -> dict[str, Tensor]:
        return {"pixel_values": normal(n, 3, side, side)}

    return inputs


def _image_and_text(n: int) -> dict[str, Tensor]:
    return {**masked(n), "pixel_values": normal(n, 3, 8, 8)}


def _clip() -> dict[str, Any]:
    return {
        "text_config": {**_SMALL, "vocab_size": 50, "max_position_embeddings": 16, "eos_token_id": 2},
        "vision_config": {**_SMALL, "image_size": 8, "patch_size": 4},
        "projection_dim": 8,
    }


MEMBERS: list[Member] = [
    Member(
        "ViTForImageClassification",
        built("ViT", "ViTForImageClassification", image_size=8, patch_size=4, **_SMALL),
        _pixels(8),
    ),
    Member("DeiT", built("DeiT", image_size=8, patch_size=4, **_SMALL), _pixels(8)),
    Member(
        "Dinov2",
        built(
            "Dinov2",
            image_size=8,
            patch_size=4,
            mlp_ratio=2,
            **{k: v for k, v in _SMALL.items() if k != "intermediate_size"},
        ),
        _pixels(8),
    ),
    Member("Beit", built("Beit", image_size=8, patch_size=4, use_relative_position_bias=True, **_SMALL), _pixels(8)),
    Member(
        "Swin",
        built("Swin", image_size=16, patch_size=2, embed_dim=8, depths=[2, 1], num_heads=[1, 2], window_size=4),
        _pixels(16),
    ),
    Member(
        "ConvNextForImageClassification",
        built("ConvNext", "ConvNextForImageClassification", hidden_sizes=[8, 16], num_stages=2, **_STAGES),
        _pixels(32),
    ),
    Member(
        "ResNetForImageClassification",
        built(
            "ResNet",
            "ResNetForImageClassification",
            embedding_size=8,
            hidden_sizes=[8, 16],
            layer_type="basic",
            **_STAGES,
        ),
        _pixels(16),
    ),
    Member("MobileNetV2", built("MobileNetV2", image_size=32, depth_multiplier=0.25), _pixels(32)),
    Member(
        "SegformerForSemanticSegmentation",
        built(
            "Segformer",
            "SegformerForSemanticSegmentation",
            num_encoder_blocks=2,
            depths=[1, 1],
            sr_ratios=[2, 1],
            hidden_sizes=[8, 16],
            patch_sizes=[3, 3],
            strides=[2, 2],
            num_attention_heads=[1, 2],
            mlp_ratios=[2, 2],
            decoder_hidden_size=8,
            num_labels=4,
        ),
        _pixels(16),
    ),
    Member(
        "YolosForObjectDetection",
        built(
            "Yolos",
            "YolosForObjectDetection",
            image_size=[16, 16],
            patch_size=4,
            num_detection_tokens=4,
            num_labels=3,
            **_SMALL,
        ),
        _pixels(16),
    ),
    Member("Wav2Vec2ForCTC", built("Wav2Vec2", "Wav2Vec2ForCTC", **_WAVES), lambda n: {"input_values": normal(n, 80)}),
    Member("Hubert", built("Hubert", **_WAVES), lambda n: {"input_values": normal(n, 60)}),
    Member(
        "Whisper's encoder",
        lambda: built(
            "Whisper",
            vocab_size=50,
            num_mel_bins=8,
            d_model=16,
            encoder_layers=1,
            decoder_layers=1,
            encoder_attention_heads=2,
            decoder_attention_heads=2,
            encoder_ffn_dim=32,
            decoder_ffn_dim=32,
            max_source_positions=10,
            pad_token_id=1,
            bos_token_id=2,
            eos_token_id=3,
            decoder_start_token_id=2,
        )().get_encoder(),
        lambda n: {"input_features": normal(n, 8, 20)},
    ),
    Member("CLIP", built("CLIP", **_clip()), _image_and_text),
    Member("Siglip", built("Siglip", **_clip()), lambda n: {**masked(n), "pixel_values": normal(n, 3, 8, 8)}),
]
