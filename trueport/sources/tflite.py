"""A TFLite file, or the bytes of one."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from trueport.reference.base import Oracle
from trueport.reference.perturbed import PerturbedSource
from trueport.requirements import require_to_inspect
from trueport.runtimes.base import Model
from trueport.runtimes.settings import Setting
from trueport.runtimes.tflite import TfliteModel
from trueport.sources.facts import border
from trueport.sources.isolated import in_child
from trueport.stages import Source

__all__ = ["TfliteOptions", "TfliteSource"]


@dataclass(frozen=True)
class TfliteOptions:
    """What a caller may say about a TFLite file."""

    signature: str | None = None
    trust: bool = False
    """let operators touch files"""


class TfliteSource(Source):
    """Run by TensorFlow Lite; it has no graph of ONNX operators yet."""

    form: ClassVar[str] = "tflite"
    Options: ClassVar[type[Any]] = TfliteOptions

    @functools.cached_property
    def _runs(self) -> Sequence[Model]:
        if self.limits is not None:
            return [in_child(self, kernels=kernels, **self._settings) for kernels in ("builtin", "delegate")]
        content = self._content
        return [TfliteModel(content, kernels="builtin", **self._settings), TfliteModel(content, **self._settings)]

    def runs(self) -> Sequence[Model]:
        return self._runs

    def deployed(self, *, exact_sums: bool = False, **settings: Any) -> Model:
        if self.limits is not None:
            return in_child(self, **self._settings, **settings)
        return TfliteModel(self._content, **self._settings, **settings)

    def reopened(self, setting: Setting, model: Model, *, as_source: bool) -> Model:
        if setting.needs_process or self.limits is not None:
            return in_child(self, setting.environment, **self._settings, **setting.options)
        return TfliteModel(self._content, **self._settings, **setting.options)

    def reference(self) -> Oracle:
        return PerturbedSource(self._runs[0], "a TFLite model can't be evaluated in float64")

    def facts(self) -> Mapping[str, Any]:
        require_to_inspect("tflite")
        model = TfliteModel(self._content, trust=self.options.trust)
        quantized = model.quantization()
        found = border(model.inputs, model.outputs)
        return {
            "format": "TFLite",
            "inputs": found["inputs"],
            "outputs": found["outputs"],
            "bytes": Path(self.artifact).stat().st_size if self._is_file else len(self.artifact),
            "tensors": len(model.inner()),
            "quantized": {
                port.name: f"({port.dtype.lower()} - {known.zero_points[0]}) × {known.scales[0]:.6g}"
                for port in (*model.inputs, *model.outputs)
                if (known := quantized.get(port.name))
            },
        }

    @property
    def _settings(self) -> dict[str, Any]:
        return {"signature": self.options.signature, "trust": self.options.trust}

    @property
    def _content(self) -> Any:
        return self.artifact if self._is_file else bytes(self.artifact)

    @property
    def _is_file(self) -> bool:
        return isinstance(self.artifact, (str, Path))
