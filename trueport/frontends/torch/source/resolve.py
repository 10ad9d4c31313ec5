"""What counts as a PyTorch source, and how it becomes a module with an example call."""

from __future__ import annotations

import importlib
import re
import warnings
import zipfile
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueport.consent.archives import member_names
from trueport.consent.folders import find_modules_here
from trueport.consent.torch_files import check_exported, is_exported, tensors_only
from trueport.consent.torch_operators import check_script
from trueport.errors import InvalidModel, Untrusted, UsageError
from trueport.frontends.torch._torch import torch
from trueport.frontends.torch.source.exporter_output import quiet
from trueport.frontends.torch.source.quantized_operators import known_quantized_operators
from trueport.ir.files import check_regular
from trueport.quiet import start_up_hidden
from trueport.quoting import one_line
from trueport.versions.torch import without_triton

__all__ = ["Opened", "TorchOptions", "open_source"]

_EXAMPLE = re.compile(r"(?P<name>\w+)=(?P<dtype>\w+)\[(?P<dims>[\d, ]*)\](\((?P<low>-?\d+)\.\.(?P<high>-?\d+)\))?")


@dataclass(frozen=True)
class TorchOptions:
    """What a caller may say about a PyTorch source."""

    example_inputs: Any = None
    """a tensor, a tuple of arguments, a dict by parameter, (arguments, keywords), or words like x=float32[1,3,8,8]"""
    dynamic_shapes: Any = None
    """PyTorch's own spec, {"x.0": "batch"}, or words like x.0=batch(1..64)"""
    trust: bool = False
    """run code that a file carries, and operators that touch files"""


@dataclass(frozen=True)
class Opened:
    """A source that can be called."""

    module: Any
    """an nn.Module, or a scripted one"""
    example: Any
    program: Any = None
    """an ExportedProgram, when that is what was given"""
    scripted: bool = False


def open_source(source: Any, options: TorchOptions) -> Opened:
    """The module behind a source: a file by its path, a factory by its name, or an object."""
    example = _example(options.example_inputs)
    if isinstance(source, Path):
        found = _from_file(source, options.trust)
    else:
        found = _from_factory(source) if isinstance(source, str) else source
    if isinstance(found, torch.export.ExportedProgram):
        with quiet():
            module = found.module()
        return Opened(module, example if example is not None else found.example_inputs, found)
    if not isinstance(found, torch.nn.Module):
        raise InvalidModel(
            f"is a {type(found).__name__}, not an nn.Module", where=str(source), remedy="return the module itself"
        )
    if example is None:
        raise UsageError(
            "a module does not say what its inputs are",
            where="example_inputs",
            remedy='pass example_inputs=…, or --example "x=float32[1,3,224,224]"',
        )
    return Opened(found, example, scripted=isinstance(found, torch.jit.ScriptModule))


def _from_file(path: Path, trust: bool) -> Any:
    if not path.exists():
        raise InvalidModel("there is no such file", where=str(path))
    check_regular(path)
    if not zipfile.is_zipfile(path):
        raise InvalidModel("is not a file of torch.save, torch.export.save or torch.jit.save", where=str(path))
    names = member_names(path, ignore_case=True)
    if trust:
        find_modules_here()
    if is_exported(names):
        return _exported(path, names, trust)
    if any("/code/" in name for name in names):
        if not trust:
            check_script(path, names)
        try:
            with quiet():
                return torch.jit.load(str(path), map_location="cpu")
        except RuntimeError as error:
            raise InvalidModel(
                f"torch.jit.load cannot read it: {one_line(str(error).strip().splitlines()[0], 200)}",
                where=str(path),
                remedy="save it again",
            ) from error
    return _unpickled(path, trust)


def _exported(path: Path, names: Sequence[str], trust: bool) -> Any:
    if not trust:
        check_exported(path, names)
    known_quantized_operators()
    try:
        with without_triton(), quiet(), nullcontext() if trust else tensors_only():
            program = torch.export.load(str(path))
            program.module()  # what is wrong with constants and guards shows only here
            return program
    except Exception as error:  # PyTorch raises many kinds for what a file lacks
        raise InvalidModel(
            f"torch.export.load cannot read it: {type(error).__name__}: {one_line(error, 200)}",
            where=str(path),
            remedy="export the program again with this PyTorch",
        ) from error


def _unpickled(path: Path, trust: bool) -> Any:
    if trust:
        return torch.load(path, map_location="cpu", weights_only=False)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about protocols of pickles, which are refused anyway
            held = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # pickle's own types, for whatever is not a tensor
        raise Untrusted(
            "holds a pickled Python object, which would run code when it is read",
            where=str(path),
            remedy="read it with --trust if you know who wrote it, or save it with torch.export.save",
        ) from error
    raise InvalidModel(
        f"holds a {type(held).__name__} of weights, no network",
        where=str(path),
        remedy="name a function that builds the network and loads them: my_pkg.nets:build",
    )


def _from_factory(name: str) -> Any:
    module_name, _, attribute = name.partition(":")
    find_modules_here()
    try:
        with start_up_hidden():
            found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"there is no module {error.name!r}", where=name, remedy="write PACKAGE.MODULE:FUNCTION"
        ) from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise UsageError(f"{module_name!r} has no {attribute!r}", where=name)
        found = getattr(found, part)
    return found if isinstance(found, (torch.nn.Module, torch.export.ExportedProgram)) else found()


def _example(given: Any) -> Any:
    if isinstance(given, str):
        given = [given]
    if isinstance(given, (list, tuple)) and given and all(isinstance(word, str) for word in given):
        return dict(_tensor(word) for word in _words(given))
    return given


def _words(given: Sequence[str]) -> list[str]:
    return [word for text in given for word in re.split(r",(?=\w+=)", text.replace(" ", ""))]


def _tensor(word: str) -> tuple[str, Any]:
    match = _EXAMPLE.fullmatch(word)
    dtype = getattr(torch, match["dtype"], None) if match else None
    if match is None or not isinstance(dtype, torch.dtype):
        raise UsageError(
            f"{word!r} describes no tensor",
            where="--example",
            remedy="write NAME=float32[1,3,224,224], or NAME=int64[1,16](0..999) for whole numbers in a range",
        )
    shape = [int(dim) for dim in match["dims"].split(",") if dim]
    generator = torch.Generator().manual_seed(0)
    if dtype.is_floating_point or dtype.is_complex:
        return match["name"], torch.randn(shape, generator=generator, dtype=dtype)
    low, high = int(match["low"] or 0), int(match["high"] or 1)
    return match["name"], torch.randint(low, high + 1, shape, generator=generator).to(dtype)
