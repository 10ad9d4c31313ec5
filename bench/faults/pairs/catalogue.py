"""All faithful pairs, enumerated without making any."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from bench.faults.pairs.disguises import DISGUISES
from bench.faults.pairs.graph import Two
from bench.faults.pairs.halves import HALVES
from bench.faults.pairs.optimizers import LEVELS, SIMPLIFIERS, change_opset, optimize, simplify
from bench.faults.pairs.pair import ROUNDING_ONLY, Pair, make_rng
from bench.faults.pairs.precision import PRECISION_CHANGES, TOLERANCE
from bench.faults.pairs.rewrites_elementwise import ELEMENTWISE_REWRITES
from bench.faults.pairs.rewrites_linear import LINEAR_REWRITES
from bench.faults.pairs.unstable import UNSTABLE
from bench.faults.zoo import ZOO
from bench.real_models import light

__all__ = ["choose", "enumerate_pairs", "find_pair"]

Change = Callable[[onnx.ModelProto, str, Path], Any]
Writer = Callable[[np.random.Generator, int], Two]
OPSETS = (18, 23)
NOT_CONVERTIBLE = {("opset_18", "encoder")}
"""opset 18 has no Gelu"""
LIGHT = ("squeezenet", "shufflenet")


def enumerate_pairs(seed: int = 0) -> Iterator[Pair]:
    """Yield every pair; weights, names and orders are drawn from the seed."""
    yield from _written("rewrite", (*LINEAR_REWRITES, *ELEMENTWISE_REWRITES), (0, 1), seed)
    yield from _written("unstable", UNSTABLE, (0, 1, 2), seed)
    yield from _written("half", HALVES, (0, 1, 2), seed)
    yield from _optimized_unstable(seed)
    yield from _transformed(seed)
    yield from _precision_changes(seed)
    yield from _everywhere(seed)
    yield from _torch_pairs(seed)
    yield from _tensorflow_pairs(seed)


def find_pair(name: str, seed: int = 0) -> Pair:
    """Return the pair of this name."""
    return next(pair for pair in enumerate_pairs(seed) if pair.name == name)


def choose(count: int | None, seed: int, kinds: str = "") -> list[Pair]:
    """Return ``count`` pairs whose name contains ``kinds``, spread over the kinds; None means all."""
    by_kind: dict[str, list[Pair]] = {}
    for pair in enumerate_pairs(seed):
        if kinds in pair.name:
            by_kind.setdefault(pair.kind, []).append(pair)
    rng = np.random.default_rng(seed)
    columns = [[pairs[k] for k in rng.permutation(len(pairs))] for pairs in by_kind.values()]
    spread = [pair for row in itertools.zip_longest(*columns) for pair in row if pair is not None]
    return spread[:count]


def _written(kind: str, writers: Sequence[Writer], sizes: Sequence[int], seed: int) -> Iterator[Pair]:
    for write, size in itertools.product(writers, sizes):
        name = f"{kind}/{write.__name__}/{size}"

        def make(folder: Path, write: Writer = write, size: int = size, name: str = name) -> Two:
            return write(make_rng(name, seed), size)

        yield Pair(kind, name, make)


def _optimized_unstable(seed: int) -> Iterator[Pair]:
    """Yield ill-conditioned models beside what ONNX Runtime's optimizer makes of them."""
    for write in UNSTABLE:
        name = f"unstable_optimized/{write.__name__}"

        def make(folder: Path, write: Writer = write, name: str = name) -> tuple[Any, Any]:
            source, _ = write(make_rng(name, seed), 1)
            return source, optimize(source, "all", folder)

        yield Pair("unstable_optimized", name, make)


def _transformed(seed: int) -> Iterator[Pair]:
    """Yield the zoo's models, and some larger ones, beside what a tool or a disguise makes of them."""
    for kind, change in _changes(seed).items():
        for name, source in _sources(kind):

            def make(
                folder: Path, source: Any = source, change: Any = change, name: str = name
            ) -> tuple[onnx.ModelProto, Any]:
                model = source()
                return model, change(model, name, folder)

            yield Pair(kind, f"{kind}/{name}", make)


def _changes(seed: int) -> dict[str, Change]:
    """Return by kind what is done to a model, given its name and a folder for files."""
    found: dict[str, Change] = {}
    for level in LEVELS:
        found[f"ort_{level}"] = functools.partial(_optimize, level)
    for tool in SIMPLIFIERS:
        found[tool] = functools.partial(_simplify, tool)
    for version in OPSETS:
        found[f"opset_{version}"] = functools.partial(_change_opset, version)
    for kind in DISGUISES:
        found[kind] = functools.partial(_disguise, kind, seed)
    return found


def _optimize(level: str, model: onnx.ModelProto, name: str, folder: Path) -> Any:
    return optimize(model, level, folder)


def _simplify(tool: str, model: onnx.ModelProto, name: str, folder: Path) -> Any:
    return simplify(model, tool, folder)


def _change_opset(version: int, model: onnx.ModelProto, name: str, folder: Path) -> Any:
    return change_opset(model, version)


def _disguise(kind: str, seed: int, model: onnx.ModelProto, name: str, folder: Path) -> Any:
    return DISGUISES[kind](model, make_rng(name, seed), folder)


def _sources(kind: str) -> Iterator[tuple[str, Callable[[], onnx.ModelProto]]]:
    yield from ((name, make) for name, make in ZOO.items() if (kind, name) not in NOT_CONVERTIBLE)
    if kind in ("ort_all", "onnxslim", "renamed"):
        yield from ((f"light_{name}", functools.partial(light, name)) for name in LIGHT)


def _precision_changes(seed: int) -> Iterator[Pair]:
    for pair in _written("precision", PRECISION_CHANGES, (0, 1), seed):
        yield Pair(pair.kind, pair.name, pair.make, (*ROUNDING_ONLY, "within tolerance"), TOLERANCE)


def _everywhere(seed: int) -> Iterator[Pair]:
    """Yield pairs that are compared under all settings of their runtimes, oneDNN's among them."""
    chosen = (LINEAR_REWRITES[0], LINEAR_REWRITES[2], ELEMENTWISE_REWRITES[0], UNSTABLE[2])
    for pair in _written("everywhere", chosen, (0,), seed):
        yield Pair(pair.kind, pair.name, pair.make, options={"everywhere": True})

    def make(folder: Path) -> tuple[Any, Any]:
        from bench.faults.pairs import keras_nets

        net = keras_nets.make_net("cnn", seed)
        return net, keras_nets.FORMS["saved_model"](net, folder)

    yield Pair("everywhere", "everywhere/keras_cnn", make, options={"everywhere": True})


def _torch_pairs(seed: int) -> Iterator[Pair]:
    """Yield PyTorch modules beside the files and programs that PyTorch writes of them."""
    import torch

    from bench.faults.pairs import torch_nets

    for name, form in itertools.product(torch_nets.NETS, torch_nets.FORMS):

        def make(folder: Path, name: str = name, form: str = form) -> tuple[Any, Any]:
            net = torch_nets.make_net(name, seed)
            return net, torch_nets.FORMS[form](net, torch_nets.make_example(name), folder)

        options = {"example_inputs": torch_nets.make_example(name)}
        yield Pair(f"torch_{form}", f"torch_{form}/{name}", make, options=options)
    for name in torch_nets.NETS:

        def make_files(folder: Path, name: str = name) -> tuple[Any, Any]:
            net, example = torch_nets.make_net(name, seed), torch_nets.make_example(name)
            return tuple(torch_nets.FORMS[form](net, example, folder) for form in ("traced", "dynamo"))

        # The two exporters call outputs by names of their own.
        yield Pair("torch_exporters", f"torch_exporters/{name}", make_files, options={"allow": ("names",)})
    for name in ("mlp", "cnn", "wave", "attention"):

        def make_half(folder: Path, name: str = name) -> tuple[Any, Any]:
            net = torch_nets.make_net(name, seed).to(torch.bfloat16)
            example = torch_nets.make_example(name, torch.bfloat16)
            return net, torch_nets.FORMS["exported_program"](net, example, folder)

        options = {"example_inputs": torch_nets.make_example(name, torch.bfloat16)}
        yield Pair("torch_bfloat16", f"torch_bfloat16/{name}", make_half, options=options)


def _tensorflow_pairs(seed: int) -> Iterator[Pair]:
    """Yield Keras models beside the forms that TensorFlow gives them, and functions written by hand."""
    from bench.faults.pairs import keras_nets, tf_rewrites

    for name, form in itertools.product(keras_nets.NETS, keras_nets.FORMS):

        def make(folder: Path, name: str = name, form: str = form) -> tuple[Any, Any]:
            net = keras_nets.make_net(name, seed)
            return net, keras_nets.FORMS[form](net, folder)

        yield Pair(f"keras_{form}", f"keras_{form}/{name}", make)
    for name, write in tf_rewrites.TF_REWRITES.items():

        def make_functions(folder: Path, name: str = name, write: Any = write) -> Any:
            return write(make_rng(name, seed), folder)

        yield Pair("tf_function", f"tf_function/{name}", make_functions)
