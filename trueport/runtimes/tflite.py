"""TFLite files in TensorFlow's interpreter or LiteRT's: signatures by name, open dims resized, inner tensors fetched.

Quantized tensors are given and taken as they are stored, as integers; `quantization` says what they mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnx_ir as ir

from trueport.consent.tensorflow_files import check_tflite
from trueport.errors import InvalidInput, InvalidModel
from trueport.ir.artifact import InnerValue
from trueport.ir.files import check_regular
from trueport.ir.ports import Port, pack, unpack
from trueport.quiet import framework_warnings_hidden, tensorflow_lines_hidden
from trueport.quoting import one_line, plain_text
from trueport.runtimes.base import Model, Operation
from trueport.runtimes.lite import MAGIC, interpreter_class, resolver_types
from trueport.runtimes.parts_tflite import write_part

__all__ = ["Kernels", "Quantization", "TfliteModel"]

_INNER = "the model's inner() lists all tensors"

Kernels = Literal["delegate", "builtin", "reference"]
"""How it runs: as by default (XNNPACK where that has a kernel), by TFLite's own kernels, by its reference kernels."""
_RESOLVERS: Mapping[Kernels, str] = {
    "delegate": "AUTO",
    "builtin": "BUILTIN_WITHOUT_DEFAULT_DELEGATES",
    "reference": "BUILTIN_REF",
}


@dataclass(frozen=True)
class Quantization:
    """What a tensor's integers mean: (q - zero_point) * scale, along an axis where there are several."""

    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int


class TfliteModel(Model):
    """A model as TensorFlow Lite runs it on the CPU."""

    runtime = "tflite"

    def __init__(
        self,
        source: str | Path | bytes,
        *,
        signature: str | None = None,
        kernels: Kernels = "delegate",
        threads: int | None = None,
        trust: bool = False,
    ) -> None:
        self._content = bytes(source) if isinstance(source, (bytes, bytearray)) else _read(Path(source))
        self._where = "the TFLite model" if isinstance(source, (bytes, bytearray)) else str(source)
        if not trust:
            check_tflite(self._content, self._where)
        self._kernels, self._threads = kernels, threads
        self._interpreter = self._open(kernels, keep=False)
        self._looking: Any = None
        self._signature = self._chosen(signature)
        self._ins, self._outs = self._border(self._interpreter)
        self.inputs = tuple(_port(name, details) for name, details in self._ins.items())
        self.outputs = tuple(_port(name, details) for name, details in self._outs.items())
        self._tensors = {details["name"]: details for details in self._interpreter.get_tensor_details()}

    def inner(self) -> Mapping[str, InnerValue]:
        return {name: InnerValue(name) for name in self._tensors if name}

    def output_values(self) -> Mapping[str, str]:
        return {name: details["name"] for name, details in self._outs.items() if details["name"] in self._tensors}

    def input_values(self) -> Mapping[str, InnerValue]:
        return {name: InnerValue(details["name"]) for name, details in self._ins.items()}

    def operations(self) -> Sequence[Operation]:
        names = {details["index"]: details["name"] for details in self._interpreter.get_tensor_details()}
        # Not public: there is no other way to the operators of a loaded file.
        return [
            Operation(
                f"{found['op_name']} {found['index']}",
                found["op_name"],
                tuple(names[i] for i in found["inputs"] if i in names),
                tuple(names[i] for i in found["outputs"] if i in names),
            )
            for found in self._interpreter._get_ops_details()
            if found["op_name"] != "DELEGATE"
        ]

    def constants(self) -> Mapping[str, Any]:
        """Under the names that they have here."""
        made = {name for operation in self.operations() for name in operation.outputs}
        taken = {details["name"] for details in self._ins.values()}
        read = {name for operation in self.operations() for name in operation.inputs} - made - taken
        return {name: np.array(self._interpreter.get_tensor(self._tensors[name]["index"])) for name in sorted(read)}

    def quantization(self) -> Mapping[str, Quantization]:
        """Of all quantized tensors, by their names, and of inputs and outputs by the signature's."""
        return {
            name: Quantization(
                tuple(map(float, found["scales"])), tuple(map(int, found["zero_points"])), found["quantized_dimension"]
            )
            for name, details in {**self._tensors, **self._ins, **self._outs}.items()
            if len((found := details["quantization_parameters"])["scales"])
        }

    def cut(self, fed: Mapping[str, Any], fetch: str, feeds: Mapping[str, Any], place: Path) -> None:
        """A TFLite file that takes the given tensors by the names they have here."""
        places = {name: details["index"] for name, details in self._tensors.items()}
        own = {self._ins[port.name]["index"]: pack(port, feeds[port.name])[port.parts[0]] for port in self.inputs}
        given = {places[name]: np.asarray(array) for name, array in fed.items()}
        write_part(self._content, given, own, places[fetch], place)

    def _run(self, feeds: Mapping[str, Any], fetch: list[str] | None) -> dict[str, Any]:
        parts = {port.name: pack(port, feeds[port.name])[port.parts[0]] for port in self.inputs}
        if fetch is not None:
            return self._fetch(parts, fetch)
        if self._signature is not None:
            made = self._interpreter.get_signature_runner(self._signature)(**parts)
        else:
            self._invoke(self._interpreter, parts)
            made = {name: self._interpreter.get_tensor(details["index"]) for name, details in self._outs.items()}
        return {port.name: unpack(port, {port.parts[0]: np.array(made[port.name])}) for port in self.outputs}

    def _fetch(self, parts: Mapping[str, np.ndarray], fetch: Sequence[str]) -> dict[str, Any]:
        """From a second interpreter, which keeps all tensors: a delegate would not hand out what lies inside it."""
        if self._looking is None:
            self._looking = self._open("reference" if self._kernels == "reference" else "builtin", keep=True)
        places = {name: details["index"] for name, details in self._tensors.items()}
        places |= {name: details["index"] for name, details in self._outs.items()}
        for name in fetch:
            if name not in places:
                raise InvalidInput(f"there is no tensor {name!r}", where=self._where, remedy=_INNER)
        self._invoke(self._looking, parts)
        found = {}
        for name in fetch:
            try:
                found[name] = np.array(self._looking.get_tensor(places[name]))
            except ValueError as error:
                why = f"the tensor {name!r} holds no data: {plain_text(error)}"
                raise InvalidInput(why, where=self._where, remedy=_INNER) from error
        return found

    def _invoke(self, interpreter: Any, parts: Mapping[str, np.ndarray]) -> None:
        for name, array in parts.items():
            interpreter.resize_tensor_input(self._ins[name]["index"], list(array.shape))
        interpreter.allocate_tensors()
        for name, array in parts.items():
            interpreter.set_tensor(self._ins[name]["index"], array)
        interpreter.invoke()

    def _open(self, kernels: Kernels, *, keep: bool) -> Any:
        resolver = getattr(resolver_types(), _RESOLVERS[kernels])
        try:
            # It announces that it will move to another package one day, and which kernels it has chosen.
            with tensorflow_lines_hidden(), framework_warnings_hidden("tensorflow"):
                made = interpreter_class()(
                    model_content=self._content,
                    num_threads=self._threads,
                    experimental_op_resolver_type=resolver,
                    experimental_preserve_all_tensors=keep,
                )
                made.allocate_tensors()
        except (ValueError, RuntimeError) as error:
            raise InvalidModel(
                f"TensorFlow Lite can't load it: {one_line(error, 300)}",
                where=self._where,
                remedy="operators of TensorFlow or of one's own (Flex, custom) need a build that has them",
            ) from error
        return made

    def _chosen(self, wanted: str | None) -> str | None:
        """The signature that is meant: the one asked for, the default one, or none where the file has none."""
        known = list(self._interpreter.get_signature_list())
        if wanted is not None and wanted not in known:
            raise InvalidModel(f"has no signature {wanted!r}", where=self._where, remedy=f"it has: {known or 'none'}")
        return wanted or ("serving_default" if "serving_default" in known else known[0] if known else None)

    def _border(self, interpreter: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        if self._signature is not None:
            runner = interpreter.get_signature_runner(self._signature)
            return dict(runner.get_input_details()), dict(runner.get_output_details())
        inputs, outputs = interpreter.get_input_details(), interpreter.get_output_details()
        return {details["name"]: details for details in inputs}, {details["name"]: details for details in outputs}


def _read(path: Path) -> bytes:
    check_regular(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidModel(
            f"can't be read: {error.strerror}", where=str(path), remedy="name a .tflite file that is there"
        ) from error
    if content[4:8] != MAGIC:
        raise InvalidModel("is no TFLite file", where=str(path), remedy="its fifth to eighth byte should be TFL3")
    return content


def _port(name: str, details: Mapping[str, Any]) -> Port:
    stated = details["shape_signature"] if len(details["shape_signature"]) else details["shape"]
    shape = tuple(None if dim < 0 else int(dim) for dim in stated)
    kind = np.dtype(details["dtype"])
    dtype = ir.DataType.STRING if kind.kind in "SUO" else ir.DataType.from_numpy(kind)
    return Port(name, "tensor", dtype.name, shape, (name,))
