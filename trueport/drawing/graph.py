"""Both graphs of a conversion as plain data: nodes, the values between them, and which node became which."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import onnx_ir as ir

from trueport.fidelity import Fidelity
from trueport.ir.layouts import inverse, source_names
from trueport.ir.places import op_id
from trueport.ir.ports import Dims
from trueport.ir.provenance import MADE_BY, location, origins
from trueport.mapping.registry import Finding

__all__ = ["Graph", "GraphNode", "GraphValue", "Graphs", "findings_by_origin", "joined", "onnx_graph", "typed_like"]

_LONGEST = 80
"""Characters of an attribute that are shown; the model itself has the rest."""
_TORCH_SCOPES = "pkg.torch.onnx.name_scopes"
"""Metadata that PyTorch's exporter leaves: module paths from the outermost in."""
_DTYPES = {"float": "float32", "double": "float64"}
"""ONNX's names that every other framework spells otherwise."""


@dataclass(frozen=True)
class GraphValue:
    """A tensor between nodes; empty and None where nothing is known."""

    name: str
    dtype: str = ""
    shape: Dims | None = None


@dataclass(frozen=True)
class GraphNode:
    """One operation as its own framework shows it."""

    name: str
    op: str
    scope: str = ""
    """the layers or modules around it, outermost first, joined by ``/``"""
    attributes: Mapping[str, str] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    """names of values; empty for an optional input that is left out"""
    outputs: tuple[GraphValue, ...] = ()
    origins: tuple[str, ...] = ()
    """names of the source's nodes that this one goes back to"""
    place: str = ""
    """where in the source code it was written, as far as the model says"""
    made_by: str = ""
    """the step of the conversion that made it, where it was not translated one to one"""
    fidelity: Fidelity | None = None
    """None for what the conversion had no question about, like what it computed beforehand"""
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Graph:
    """The main graph of a model; what is inside branches and loops counts as part of its node."""

    framework: str
    nodes: tuple[GraphNode, ...]
    inputs: tuple[GraphValue, ...] = ()
    outputs: tuple[str, ...] = ()
    """names of values"""
    output_names: tuple[str, ...] = ()
    """what the model's users call them, where that is something else"""
    constants: tuple[GraphValue, ...] = ()
    data_files: tuple[str, ...] = ()
    """files beside the model's own that hold weights"""
    opsets: Mapping[str, int] = field(default_factory=dict)
    producer: str = ""


@dataclass(frozen=True)
class Graphs:
    """Source and target, with pairs of indices into their nodes: this became that."""

    source: Graph
    target: Graph
    links: tuple[tuple[int, int], ...] = ()


def onnx_graph(model: ir.Model) -> Graph:
    """An ONNX model's main graph."""
    graph = model.graph
    weights = [value for value in graph.initializers.values() if value.name]
    return Graph(
        "ONNX",
        tuple(_onnx_node(node) for node in graph),
        tuple(_value(value) for value in graph.inputs if value.name not in graph.initializers),
        tuple(value.name or "" for value in graph.outputs),
        (),
        tuple(_value(value) for value in weights),
        tuple(dict.fromkeys(str(t.location) for v in weights if isinstance(t := v.const_value, ir.ExternalTensor))),
        {domain or "ai.onnx": version for domain, version in model.opset_imports.items()},
        f"{model.producer_name or ''} {model.producer_version or ''}".strip(),
    )


def _onnx_node(node: ir.Node) -> GraphNode:
    made = next((value.name for value in node.outputs if value.name), "")
    return GraphNode(
        node.name or made,
        op_id(node),
        _onnx_scope(node),
        {name: _short(attribute) for name, attribute in node.attributes.items()},
        tuple(value.name or "" if value is not None else "" for value in node.inputs),
        tuple(_value(value) for value in node.outputs),
        origins(node),
        location(node),
        node.metadata_props.get(MADE_BY, ""),
    )


def _onnx_scope(node: ir.Node) -> str:
    """PyTorch's module path where its exporter left one, else the name's own hierarchy (``/layer1/conv/Conv``)."""
    if scopes := node.metadata_props.get(_TORCH_SCOPES):
        modules = [scope for scope in ast.literal_eval(scopes)[:-1] if scope]
        return modules[-1].replace(".", "/") if modules else ""
    return "/".join(part for part in (node.name or "").split("/")[:-1] if part)


def _short(attribute: ir.Attr) -> str:
    if attribute.type == ir.AttributeType.GRAPH:
        return f"a graph of {len(attribute.as_graph())} nodes"
    if attribute.type == ir.AttributeType.TENSOR:
        tensor = attribute.as_tensor()
        return f"{tensor.dtype.name.lower()}{list(tensor.shape.numpy())}"
    value = attribute.value
    text = str(list(value) if isinstance(value, Sequence) and not isinstance(value, (str, bytes)) else value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _value(value: ir.Value) -> GraphValue:
    name = value.dtype.name.lower() if value.dtype is not None else str(value.type or "")
    return GraphValue(value.name or "", _DTYPES.get(name, name), _dims(value))


def _dims(value: ir.Value) -> Dims | None:
    if value.shape is None:
        return None
    return tuple(dim if isinstance(dim, int) else dim.value for dim in value.shape)


def typed_like(graph: Graph, canonical: ir.Model) -> Graph:
    """``graph`` with the types and dims that inference found for the same values later on."""
    known = _known_values(canonical)

    def fill(value: GraphValue) -> GraphValue:
        found = known.get(value.name)
        if found is None:
            return value
        shape = found.shape if value.shape is None else value.shape
        return GraphValue(value.name, value.dtype or found.dtype, shape)

    nodes = tuple(replace(node, outputs=tuple(fill(value) for value in node.outputs)) for node in graph.nodes)
    return replace(graph, nodes=nodes)


def _known_values(model: ir.Model) -> dict[str, GraphValue]:
    known: dict[str, GraphValue] = {}
    for node in model.graph:
        for value in node.outputs:
            found = _value(value)
            for name, perm in source_names(value).items() if value.name else ():
                known.setdefault(name, GraphValue(name, found.dtype, _turned_back(found.shape, perm)))
    return known


def _turned_back(shape: Dims | None, perm: Sequence[int] | None) -> Dims | None:
    if shape is None or perm is None or len(perm) != len(shape):
        return shape
    return tuple(shape[axis] for axis in inverse(tuple(perm)))


def findings_by_origin(nodes: Iterable[ir.Node], findings: Iterable[Finding]) -> dict[str, Finding]:
    """The worst finding of all nodes that a source's node became."""
    worst: dict[str, Finding] = {}
    for node, finding in zip(nodes, findings, strict=True):
        for name in origins(node):
            if name not in worst or finding.fidelity > worst[name].fidelity:
                worst[name] = finding
    return worst


def joined(source: Graph, target: Graph, findings: Mapping[str, Finding]) -> Graphs:
    """The two with links between them; the target's nodes take their scopes from what they go back to."""
    judged = [_judged(node, findings.get(node.name)) for node in source.nodes]
    places = {node.name: index for index, node in enumerate(judged)}
    back = [[places[name] for name in node.origins if name in places] for node in target.nodes]
    kin = Counter(indices[0] for indices in back if indices)
    made = [
        _placed(node, [judged[index] for index in known], among_kin=bool(known) and kin[known[0]] > 1)
        for node, known in zip(target.nodes, back, strict=True)
    ]
    links = tuple((index, at) for at, indices in enumerate(back) for index in indices)
    return Graphs(replace(source, nodes=tuple(judged)), replace(target, nodes=_beside_readers(made)), links)


def _beside_readers(nodes: Sequence[GraphNode]) -> tuple[GraphNode, ...]:
    """What the conversion made of its own stands with the first that reads it."""
    reader: dict[str, int] = {}
    for index, node in enumerate(nodes):
        for name in node.inputs:
            reader.setdefault(name, index)
    found = list(nodes)
    for index in reversed(range(len(found))):
        node = found[index]
        readers = [reader[value.name] for value in node.outputs if value.name in reader]
        if not node.origins and readers:
            found[index] = replace(node, scope=found[min(readers)].scope)
    return tuple(found)


def _judged(node: GraphNode, finding: Finding | None) -> GraphNode:
    if finding is None:
        return node
    return replace(node, fidelity=finding.fidelity, reasons=tuple(reason.because for reason in finding.reasons))


def _placed(node: GraphNode, came_from: Sequence[GraphNode], *, among_kin: bool) -> GraphNode:
    """One that goes back to a node stands where that stands; several that go back to one make a group of its name."""
    if not came_from:
        return node
    known = [origin.fidelity for origin in came_from if origin.fidelity is not None]
    first = came_from[0]
    scope = "/".join(filter(None, (first.scope, _leaf(first.name) if among_kin else "")))
    reasons = tuple(dict.fromkeys(reason for origin in came_from for reason in origin.reasons))
    return replace(node, scope=scope, fidelity=max(known, default=None), reasons=reasons)


def _leaf(name: str) -> str:
    return name.rsplit("/", 1)[-1]
