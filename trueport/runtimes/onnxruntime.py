"""ONNX files in ONNX Runtime, any inner value on request."""

from __future__ import annotations

import copy
import functools
import math
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnx
import onnx_ir as ir

from trueport.errors import InvalidInput, InvalidModel, TrueportError
from trueport.ir.artifact import InnerValue
from trueport.ir.external import embed_external_data
from trueport.ir.layouts import source_names
from trueport.ir.maps import from_proto
from trueport.ir.ports import make_ports, pack, unpack
from trueport.ir.provenance import ORIGIN
from trueport.ir.reading import read_located
from trueport.ir.schemas import EXTENSIONS
from trueport.lazy import LazyModule
from trueport.quoting import one_line
from trueport.runtimes.base import Model, Operation
from trueport.runtimes.exact_sums import has_saturating_sums, saturates_here, with_exact_sums
from trueport.runtimes.on_demand import OnDemand
from trueport.runtimes.ort_arrays import run_session
from trueport.runtimes.parts import pruned

__all__ = ["LEVELS", "Level", "OnnxRuntimeModel", "extensions_library"]

ort: Any = LazyModule("onnxruntime", "ONNX Runtime", "onnxruntime")
_extensions: Any = LazyModule("onnxruntime_extensions", "onnxruntime-extensions", "extensions")
_LARGE_WEIGHTS = 256 << 20
"""bytes from which on a session more counts"""

Level = Literal["none", "basic", "extended", "all"]
LEVELS: Mapping[Level, str] = {
    "none": "ORT_DISABLE_ALL",
    "basic": "ORT_ENABLE_BASIC",
    "extended": "ORT_ENABLE_EXTENDED",
    "all": "ORT_ENABLE_ALL",
}
"""How far ONNX Runtime rewrites a graph before it runs it."""


def extensions_library() -> str:
    """The shared library with the operators of onnxruntime-extensions."""
    if not hasattr(sys, "getdlopenflags"):
        return str(_extensions.get_library_path())
    flags = sys.getdlopenflags()
    # It has an RE2 of its own; where TensorFlow is loaded it would call TensorFlow's, and find nothing.
    sys.setdlopenflags(flags | getattr(os, "RTLD_DEEPBIND", 0))
    try:
        return str(_extensions.get_library_path())
    finally:
        sys.setdlopenflags(flags)


class OnnxRuntimeModel(Model):
    """A model as ONNX Runtime runs it; sessions are made once per set of fetched values."""

    runtime = "onnxruntime"

    def __init__(
        self,
        source: str | Path | onnx.ModelProto,
        *,
        optimize: bool = True,
        level: Level | None = None,
        threads: int | None = None,
        exact_sums: bool = True,
    ) -> None:
        """``level`` is more exact than ``optimize``; ``threads`` within an operator, all cores if not given.

        ``exact_sums``: compute integer sums exactly where ONNX Runtime would saturate them on this CPU.
        """
        self._where = "the model" if isinstance(source, onnx.ModelProto) else str(source)
        self._folder: Path | None = None
        if isinstance(source, onnx.ModelProto):
            self._proto = source
        else:
            self._proto, self._folder = read_located(Path(source))
        self._level: Level = level or ("all" if optimize else "none")
        self._threads = threads
        self._exact_sums = exact_sums
        self._sessions: dict[tuple[str, ...], Any] = {}
        graph = from_proto(self._proto).graph
        initializers = set(graph.initializers)
        self._inner = _inner_values(graph)
        self._types = {value.name: value.dtype for node in graph for value in node.outputs}
        self.inputs = make_ports(value for value in graph.inputs if value.name not in initializers)
        self.outputs = make_ports(graph.outputs)

    def at_level(self, level: Level) -> OnnxRuntimeModel:
        """Return the same model at another level of optimization; its file is not read again."""
        other = copy.copy(self)
        other._level, other._sessions = level, {}
        return other

    def prepare(self) -> None:
        """Make the session now: raises if ONNX Runtime can't run the model."""
        self._session(())

    def try_out(self) -> None:
        """Like :meth:`prepare`, but nothing is kept, and no second copy of the weights is made for fast products."""
        self._open(self._proto, pack=False)

    def as_run_here(self) -> Model | None:
        if not self._exact_sums or not saturates_here() or not has_saturating_sums(self._proto, self._folder):
            return None
        other = copy.copy(self)
        other._exact_sums, other._sessions = False, {}
        return other

    def file_in(self, folder: Path) -> Path:
        """Return the file of the model: the one it was read from, else one that is written to the folder."""
        if self._folder is not None:
            return Path(self._where)
        place = folder / "model.onnx"
        place.write_bytes(self._proto.SerializeToString())
        return place

    @property
    def proto(self) -> onnx.ModelProto:
        """The model as it was read; weights in other files stay there."""
        return self._proto

    def graph(self) -> ir.Graph:
        """The model's main graph; weights in files of their own are read when they are asked for."""
        graph = from_proto(self._proto).graph
        ir.external_data.set_base_dir(graph, self._folder or Path())
        return graph

    def inner(self) -> Mapping[str, InnerValue]:
        return self._inner

    def _run(self, feeds: Mapping[str, Any], fetch: list[str] | None) -> dict[str, Any]:
        declared = [port.name for port in self.outputs]
        names = declared if fetch is None else fetch
        held = [InnerValue(name) if name in declared else self._held(name) for name in names]
        session = self._session(tuple(dict.fromkeys(v.tensor for v in held if v.tensor not in declared)))
        checked = {port.name: _feed(port, feeds[port.name]) for port in self.inputs}
        return _restored(names, held, run_session(session, [value.tensor for value in held], checked))

    @property
    def keeps_names(self) -> bool:
        return any(entry.key == ORIGIN for node in self._proto.graph.node for entry in node.metadata_props)

    def operations(self) -> Sequence[Operation]:
        return [
            Operation(node.name, node.op_type, tuple(filter(None, _reads(node))), tuple(node.output), tuple(node.input))
            for node in self._proto.graph.node
        ]

    def constants(self) -> Mapping[str, Any]:
        return OnDemand({t.name: functools.partial(self._read, t) for t in self._proto.graph.initializer})

    def _read(self, tensor: onnx.TensorProto) -> Any:
        held = onnx.TensorProto()
        held.CopyFrom(tensor)
        embed_external_data([held], self._folder or Path())
        return onnx.numpy_helper.to_array(held)

    def _held(self, name: str) -> InnerValue:
        if name not in self._inner:
            raise InvalidInput(
                f"there is no value {name!r} in the model's main graph",
                where=self._where,
                remedy="the model's inner() lists all values",
            )
        return self._inner[name]

    def segment(self, fed: Mapping[str, Any], fetch: Sequence[str], feeds: Mapping[str, Any]) -> dict[str, Any]:
        given = {self._held(name).tensor: _turned(array, self._held(name)) for name, array in fed.items()}
        # What a node that was dropped makes is a given value under another name.
        same = [name for name in fetch if name not in fed and self._held(name).tensor in given]
        asked = [name for name in fetch if name not in same]
        held = [self._held(name) for name in (*same, *asked)]
        return _restored(
            [*same, *asked], held, [*(given[v.tensor] for v in held[: len(same)]), *self._part(given, asked, feeds)]
        )

    def _part(self, given: Mapping[str, Any], asked: Sequence[str], feeds: Mapping[str, Any]) -> list[Any]:
        """The values that are asked for, made of given ones and of the model's inputs."""
        if not asked:
            return []
        wanted = [self._held(name).tensor for name in asked]
        own = {port.name: _feed(port, feeds[port.name]) for port in self.inputs}
        everything = {**own, **given, **{_given_name(name): array for name, array in given.items()}}
        part = self._between(given, wanted)
        try:
            session = self._open(part)
            return list(session.run(wanted, {i.name: everything[i.name] for i in session.get_inputs()}))
        except TrueportError:
            raise
        except Exception as error:  # types of its own, not public ones
            raise InvalidInput(
                f"what makes {', '.join(asked)} does not run by itself: {one_line(error, 300)}",
                where=self._where,
                remedy="trueport verify compares whole models",
            ) from error

    def cut(self, fed: Mapping[str, Any], fetch: str, feeds: Mapping[str, Any], place: Path) -> None:
        """The given values keep their names; where one is held otherwise, a transpose or a copy leads to it."""
        held = {name: self._inner[name] for name in fed if name in self._inner}
        wanted = self._inner.get(fetch, InnerValue(fetch))
        part = self._between({value.tensor: fed[name] for name, value in held.items()}, [wanted.tensor])
        for name, value in held.items():
            own = next((i for i in part.graph.input if i.name == value.tensor != name), None)
            if own is not None:
                order: dict[str, Any] = {"perm": value.perm} if value.perm else {}
                kind = "Transpose" if value.perm else "Identity"
                part.graph.node.insert(0, onnx.helper.make_node(kind, [name], [value.tensor], **order))
                own.name = name
        if wanted.perm:
            back = [int(axis) for axis in np.argsort(wanted.perm)]
            part.graph.node.append(onnx.helper.make_node("Transpose", [wanted.tensor], ["reproduced"], perm=back))
            part.graph.output[0].name = "reproduced"
        self._settle(part, {port.name: feeds[port.name] for port in self.inputs if port.name not in fed})
        embed_external_data(pruned(part).graph.initializer, self._folder or Path())
        onnx.save(part, place)

    def _settle(self, part: onnx.ModelProto, feeds: Mapping[str, Any]) -> None:
        """Inputs of the model that a part reads beside those it is given become constants."""
        for port in self.inputs:
            held = next((value for value in part.graph.input if value.name == port.name), None)
            if held is not None and port.name in feeds:
                array = np.asarray(_feed(port, feeds[port.name]))
                part.graph.initializer.append(onnx.numpy_helper.from_array(array, port.name))
                part.graph.input.remove(held)

    def _between(self, given: Mapping[str, Any], wanted: Sequence[str]) -> onnx.ModelProto:
        """The nodes that make ``wanted`` out of ``given`` and the model's inputs."""
        made = {name: node for node in self._proto.graph.node for name in node.output if name}
        needed: set[str] = set()
        waiting = list(wanted)
        while waiting:
            name = waiting.pop()
            if name in needed or (name in given and name not in wanted):
                continue
            needed.add(name)
            waiting += [used for used in _reads(made[name]) if used not in given] if name in made else []
        both = set(given) & set(wanted)
        part = onnx.ModelProto(ir_version=self._proto.ir_version, opset_import=self._proto.opset_import)
        part.functions.extend(self._proto.functions)
        part.graph.name = self._proto.graph.name
        part.graph.node.extend(node for node in self._proto.graph.node if needed & set(node.output))
        for node in part.graph.node if both else ():
            _reread(node, both)
        used = {name for node in part.graph.node for name in _reads(node)} | set(wanted)
        part.graph.initializer.extend(weight for weight in self._proto.graph.initializer if weight.name in used)
        part.graph.sparse_initializer.extend(self._proto.graph.sparse_initializer)
        part.graph.input.extend(i for i in self._proto.graph.input if i.name in needed)
        for name in sorted(given):
            given_as = _given_name(name) if name in both else name
            if given_as in used or not both:
                part.graph.input.append(_typed(given_as, self._types[name], given[name]))
        part.graph.output.extend(onnx.ValueInfoProto(name=name) for name in wanted)
        return part

    def _session(self, extra: tuple[str, ...]) -> Any:
        if extra not in self._sessions:
            # Each holds all weights: beside the plain one only the last is kept, and of a large model only the last.
            large = self._weight_bytes() > _LARGE_WEIGHTS
            self._sessions = {key: held for key, held in self._sessions.items() if not key and not large}
            self._sessions[extra] = self._make_session(extra)
        return self._sessions[extra]

    def _weight_bytes(self) -> int:
        return sum(
            math.prod(weight.dims) * ir.DataType(weight.data_type).bitwidth // 8
            for weight in self._proto.graph.initializer
            if weight.data_type != onnx.TensorProto.STRING
        )

    def _make_session(self, extra: tuple[str, ...]) -> Any:
        proto = onnx.ModelProto()
        proto.CopyFrom(self._proto)
        proto.graph.output.extend(onnx.ValueInfoProto(name=name) for name in extra)
        try:
            return self._open(proto)
        except TrueportError:
            raise
        except Exception as error:  # types of its own, not public ones
            raise InvalidModel(
                f"ONNX Runtime can't run it: {one_line(error, 400)}",
                where=self._where,
                remedy="a newer ONNX Runtime may have what it lacks, or run the SavedModel that trueport convert makes",
            ) from error

    def _open(self, proto: onnx.ModelProto, *, pack: bool = True) -> Any:
        options = ort.SessionOptions()
        if not pack:
            options.add_session_config_entry("session.disable_prepacking", "1")
        options.log_severity_level = 4  # what fails is raised; it need not be printed as well
        # By default it quantizes the activations, too, where only the weights of a product are dequantized.
        options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
        if self._exact_sums:
            proto = with_exact_sums(proto, self._folder)
        if any(opset.domain == EXTENSIONS for opset in proto.opset_import):
            options.register_custom_ops_library(extensions_library())
        options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, LEVELS[self._level])
        if self._threads is not None:
            options.intra_op_num_threads = self._threads
        if self._folder is not None:
            options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(self._folder))
        return ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])


def _inner_values(graph: ir.Graph) -> dict[str, InnerValue]:
    """Every value of the main graph under the names that its source knows it by, and under its own."""
    found: dict[str, InnerValue] = {}
    for node in graph:
        for value in node.outputs:
            if value.name:
                found[value.name] = InnerValue(value.name)
                for name, perm in source_names(value).items():
                    found.setdefault(name, InnerValue(value.name, perm))
    return found


def _given_name(name: str) -> str:
    """What a value is called where it is given, though it is computed as well."""
    return f"{name}#given"


def _reread(node: onnx.NodeProto, given: set[str]) -> None:
    """Let a node, and its graphs, use what is given."""
    node.input[:] = [_given_name(name) if name in given else name for name in node.input]
    for graph in (g for a in node.attribute for g in [a.g, *a.graphs]):
        for inner in graph.node:
            _reread(inner, given)
        for output in graph.output:
            output.name = _given_name(output.name) if output.name in given else output.name


def _reads(node: onnx.NodeProto) -> list[str]:
    """Names a node uses, its graphs' outer ones included."""
    inner = [name for a in node.attribute for g in [a.g, *a.graphs] for n in g.node for name in _reads(n)]
    inner += [o.name for a in node.attribute for g in [a.g, *a.graphs] for o in g.output]
    return [name for name in [*node.input, *inner] if name]


def _typed(name: str, dtype: ir.DataType | None, array: Any) -> onnx.ValueInfoProto:
    """By what the model says of its type, and where it says nothing by what is given."""
    if dtype is None:
        given = np.asarray(array).dtype
        dtype = ir.DataType.STRING if given.kind in "OUS" else ir.DataType.from_numpy(given)
    return onnx.helper.make_tensor_value_info(name, int(dtype), None)


def _turned(array: Any, held: InnerValue) -> Any:
    return np.ascontiguousarray(np.transpose(array, held.perm)) if held.perm else array


def _restored(names: Sequence[str], held: Sequence[InnerValue], arrays: Sequence[Any]) -> dict[str, Any]:
    return {
        name: array.transpose(np.argsort(value.perm)) if value.perm else array
        for name, value, array in zip(names, held, arrays, strict=True)
    }


def _feed(port: Any, value: Any) -> Any:
    """Checked by the same rules as every runtime's; ONNX Runtime takes arrays and lists as they are."""
    checked = unpack(port, pack(port, value))
    return checked if isinstance(checked, (np.ndarray, list)) else value
