"""TensorFlow: a traced function or a SavedModel's signature, inner values by the map that Trueport stored."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir

from trueport.consent.tensorflow_files import check_saved_model
from trueport.errors import InvalidInput, InvalidModel
from trueport.ir.artifact import ArtifactMap, InnerValue
from trueport.ir.files import check_regular_below
from trueport.ir.ports import Port, natural_order, pack, unpack
from trueport.lazy import LazyModule
from trueport.quoting import one_line
from trueport.runtimes.base import Model, Operation
from trueport.runtimes.constants_tensorflow import constants_of
from trueport.runtimes.inlined import argument_names, inlined
from trueport.runtimes.on_demand import OnDemand
from trueport.runtimes.parts_tensorflow import Cut, write_part

__all__ = ["FunctionModel", "SavedModel", "turn_off_grappler"]

tf: Any = LazyModule("tensorflow", "TensorFlow", "tensorflow")


class FunctionModel(Model):
    """A concrete function that is called with the parts of its ports by name."""

    runtime = "tensorflow"

    def __init__(
        self, call: Callable[..., Mapping[str, Any]], traced: Any, contract: ArtifactMap, held: Any = None
    ) -> None:
        """``held`` lives as long as the model: the function knows its variables by weak references only."""
        self._keeps = held
        self._call = call
        self._traced = traced
        self._map = contract
        self.inputs, self.outputs = contract.inputs, contract.outputs
        self._pruned: dict[tuple[str, ...], Any] = {}

    def _run(self, feeds: Mapping[str, Any], fetch: list[str] | None) -> dict[str, Any]:
        parts: dict[str, np.ndarray] = {}
        for port in self.inputs:
            parts.update(pack(port, feeds[port.name]))
        tensors = {name: _tensor(array) for name, array in parts.items()}
        if fetch is not None:
            return self._fetch(tensors, fetch)
        results = {name: value.numpy() for name, value in self._call(**tensors).items()}
        return {port.name: unpack(port, results) for port in self.outputs}

    def compiled(self) -> FunctionModel:
        """The same, compiled by XLA when it runs."""
        compiled = tf.function(lambda **tensors: self._call(**tensors), jit_compile=True, autograph=False)
        return FunctionModel(compiled, self._traced, self._map, self._keeps)

    def inner(self) -> Mapping[str, InnerValue]:
        if self._map.values:
            return self._map.values
        # Another tool's model: TensorFlow's own names are all there is.
        tensors = [t for operation in self._traced.graph.get_operations() for t in operation.outputs]
        names = [tensor.name for tensor in tensors if tensor.dtype.name not in ("resource", "variant")]
        return {name.removesuffix(":0"): InnerValue(name) for name in names}

    def opened(self) -> Model:
        if self._map.values:
            return self
        flat = inlined(self._traced)
        return self if flat is self._traced else FunctionModel(flat, flat, self._map, (self, self._keeps))

    def output_values(self) -> Mapping[str, str]:
        if self._map.values:
            return super().output_values()
        made = self._traced.structured_outputs
        tensors = {port.name: made.get(port.parts[0]) for port in self.outputs} if isinstance(made, Mapping) else {}
        return {name: t.name.removesuffix(":0") for name, t in tensors.items() if t is not None and hasattr(t, "op")}

    @property
    def keeps_names(self) -> bool:
        return bool(self._map.values)

    def operations(self) -> Sequence[Operation]:
        return [
            Operation(o.name, o.type, tuple(t.name for t in o.inputs), tuple(t.name for t in o.outputs))
            for o in self._traced.graph.get_operations()
        ]

    def constants(self) -> Mapping[str, Any]:
        variables = {v.name.split(":")[0]: v for v in getattr(self._traced, "variables", ())}
        kept = [stored for stored in self._map.weights if stored.key in variables]
        return OnDemand({w.initializer: functools.partial(_restored, variables[w.key], w.perm) for w in kept})

    def constants_of(self, tensors: Iterable[str]) -> Iterator[tuple[str, Any]]:
        graph, captured = self._traced.graph, self._traced.captured_inputs
        placeholders = graph.inputs[len(graph.inputs) - len(captured) :]
        known = {id(variable.handle): variable for variable in self._traced.variables}
        pairs = zip(placeholders, captured, strict=True)
        return constants_of(graph, tensors, {t.name: known[id(held)] for t, held in pairs if id(held) in known})

    def segment(self, fed: Mapping[str, Any], fetch: Sequence[str], feeds: Mapping[str, Any]) -> dict[str, Any]:
        parts: dict[str, np.ndarray] = {}
        for port in self.inputs:
            parts.update(pack(port, feeds[port.name]))
        # A tensor may hold two of the source's values, which differ by the order of axes only: it is given once.
        given = {value.tensor: (value, array) for value, array in ((self._held(name), a) for name, a in fed.items())}
        arrays = [np.transpose(array, value.perm) if value.perm else array for value, array in given.values()]
        self._check_types(dict(zip(given, arrays, strict=True)))
        turned = dict(zip(given, arrays, strict=True))
        # A node that does nothing is no operation here: what it makes is a given tensor under another name.
        same = {name: turned[self._held(name).tensor] for name in fetch if self._is_given(name, fed, given)}
        asked = [name for name in fetch if name not in same]
        run = self._prune([self._held(name).tensor for name in asked], list(given))
        values = run(*(_tensor(array) for array in (*parts.values(), *arrays))) if asked else ()
        made = same | {name: value.numpy() for name, value in zip(asked, values, strict=True)}
        orders = {name: self._held(name).perm for name in fetch}
        return {n: made[n].transpose(np.argsort(perm)) if perm else made[n] for n, perm in orders.items()}

    def _check_types(self, given: Mapping[str, np.ndarray]) -> None:
        """A model of another tool may hold a value in another type, which can't be fed with the source's."""
        for name, array in given.items():
            wanted = self._traced.graph.get_tensor_by_name(name).dtype
            if _tensor(array[:0] if array.ndim else array).dtype != wanted:
                raise InvalidInput(
                    f"is given as {array.dtype}, the model holds {wanted.name} there",
                    where=name,
                    remedy="only values of the same type can be put in its place",
                )

    def _is_given(self, name: str, fed: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
        return name not in fed and self._held(name).tensor in given

    def cut(self, fed: Mapping[str, Any], fetch: str, feeds: Mapping[str, Any], place: Path) -> None:
        """A SavedModel whose ``part`` takes the given values in the order of their names."""
        inner = self.inner()
        parts = {name: array for port in self.inputs for name, array in pack(port, feeds[port.name]).items()}
        placeholders = dict(zip(parts, (tensor.name for tensor in self._traced.graph.inputs), strict=False))
        own = {port.name: placeholders[port.parts[0]] for port in self.inputs}
        cut = Cut(
            self._traced,
            {name: inner[name] for name in fed if name in inner},
            {name: own[name] for name in fed if name in own and name not in inner},
            {placeholders[name]: array for name, array in parts.items()},
            self._held(fetch),
            {stored.key: (stored.initializer, stored.perm) for stored in self._map.weights},
        )
        write_part(cut, {name: (np.shape(array), np.asarray(array).dtype) for name, array in fed.items()}, place)

    def _fetch(self, tensors: Mapping[str, Any], fetch: list[str]) -> dict[str, Any]:
        held = [self._held(name) for name in fetch]
        key = tuple(value.tensor for value in held)
        if key not in self._pruned:
            self._pruned = {key: self._prune(list(key))}  # each holds a trace of its own: only the last is kept
        values = [value.numpy() for value in self._pruned[key](*tensors.values())]
        return {
            name: array.transpose(np.argsort(value.perm)) if value.perm else array
            for name, value, array in zip(fetch, held, values, strict=True)
        }

    def _held(self, name: str) -> InnerValue:
        inner = self.inner()
        if name not in inner:
            raise InvalidInput(
                f"no tensor is known for the value {name!r}",
                remedy="only values of the main graph that were not folded away can be fetched, "
                "and only from a model made by Trueport",
            )
        return inner[name]

    def _prune(self, names: list[str], given: Sequence[str] = ()) -> Any:
        """A function from the inputs, and inner tensors that are given, to others: the traced graph once more."""
        graph = self._traced.graph
        graph_def = graph.as_graph_def()
        captured = self._traced.captured_inputs
        placeholders = [tensor.name for tensor in graph.inputs]
        stands = [_reread(graph_def, graph.get_tensor_by_name(name)) if name in names else name for name in given]

        @tf.function(autograph=False)  # type: ignore[untyped-decorator]
        def inner(*inputs: Any) -> list[Any]:
            # Weights live outside of this function: it captures them as the traced one did.
            weights = [tf.compat.v1.get_default_graph().capture(tensor) for tensor in captured]
            own = inputs[: len(inputs) - len(given)]
            fed = dict(zip([*placeholders, *stands], [*own, *weights, *inputs[len(own) :]], strict=True))
            found: list[Any] = tf.graph_util.import_graph_def(graph_def, input_map=fed, return_elements=names, name="")
            return found

        return inner


def _reread(graph_def: Any, tensor: Any) -> str:
    """Let what uses a tensor use a placeholder instead, so that it can be given and computed as well; its name."""
    name = f"given_{tensor.op.name.replace('/', '_')}_{tensor.value_index}"
    plain = tensor.name.removesuffix(":0")
    for node in graph_def.node:
        for index, used in enumerate(node.input):
            if used in (plain, tensor.name):
                node.input[index] = name
    made = graph_def.node.add(op="Placeholder", name=name)
    made.attr["dtype"].type = tensor.dtype.as_datatype_enum
    return f"{name}:0"


def turn_off_grappler() -> None:
    """Let this process run graphs as they are written."""
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})


def _tensor(array: np.ndarray) -> Any:
    return tf.constant(array, tf.string if array.dtype == object else None)


class SavedModel(FunctionModel):
    """A SavedModel's signature, called with the source's names."""

    def __init__(self, folder: str | Path, *, signature: str = "serving_default", trust: bool = False) -> None:
        check_regular_below(Path(folder))
        if not trust:
            check_saved_model(Path(folder))
        try:
            self._loaded = tf.saved_model.load(str(folder))
        except (OSError, tf.errors.OpError, AssertionError, KeyError, ValueError) as error:
            raise InvalidModel(f"TensorFlow can't load it: {one_line(error, 200)}", where=str(folder)) from error
        signatures = list(self._loaded.signatures)
        if signature not in signatures:
            raise InvalidModel(
                f"has no signature {signature!r}", where=str(folder), remedy=f"it has: {signatures or 'none'}"
            )
        found = self._loaded.signatures[signature]
        contract = ArtifactMap.read(Path(folder))
        if contract is None:
            super().__init__(found, found, _map_of_signature(found), self._loaded)
        else:
            super().__init__(found, self._loaded.__call__, contract, self._loaded)


def _map_of_signature(signature: Any) -> ArtifactMap:
    """The border of a SavedModel that another tool wrote: its signature as it stands."""

    def port(name: str, spec: Any) -> Port:
        shape = None if spec.shape.rank is None else tuple(spec.shape.as_list())
        named = spec.dtype == tf.string
        dtype = ir.DataType.STRING if named else ir.DataType.from_numpy(np.dtype(spec.dtype.as_numpy_dtype))
        return Port(name, "tensor", dtype.name, shape, (name,))

    specs, made = signature.structured_input_signature[1], signature.structured_outputs
    return ArtifactMap(
        inputs=tuple(port(name, specs[name]) for name in argument_names(signature, len(specs))),
        outputs=tuple(port(name, made[name]) for name in sorted(made, key=natural_order)),
    )


def _restored(variable: Any, perm: Sequence[int] | None) -> np.ndarray:
    """A weight in the source's order of axes."""
    array: np.ndarray = variable.numpy()
    return array.transpose(np.argsort(perm)) if perm else array
