"""The captured graph compared with the module in eager mode, before anything is made of it.

Both run on the example, on other values, at other sizes of the dynamic dims and on inputs that lie in memory in
another way. A graph that gives something else holds one case of several: it is refused at the line where the module
goes another way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trueport.errors import ConversionError
from trueport.frontends.torch._torch import torch
from trueport.frontends.torch.source.call import Call, inference
from trueport.frontends.torch.source.dims import OpenDim, resized
from trueport.frontends.torch.source.divergence import first_divergence, lines_calling
from trueport.frontends.torch.source.run import RankChanges, replay
from trueport.quoting import one_line

__all__ = ["refuse_disagreement", "refuse_layout_dependence"]

_SIZES = ((1, 1, 1, 1), (2, 3, 4, 5), (5, 2, 3, 7), (7, 6, 5, 3), (4, 4, 4, 4))
"""Sizes of dynamic dims by case and dim: what is alike, what divides nothing else, one."""
_SEED = 11
_READ_LAYOUT = frozenset(
    ["as_strided", "as_strided_", "stride", "is_contiguous", "data_ptr", "storage_offset", "storage", "untyped_storage"]
)
"""Functions whose result depends on how a tensor lies in memory."""


@dataclass(frozen=True)
class _Case:
    """Inputs to compare on."""

    words: str
    tensors: Sequence[Any]


def refuse_disagreement(
    module: Any, call: Call, program: Any, dims: Sequence[OpenDim], more: Sequence[Mapping[str, int]] = ()
) -> None:
    """Raise unless the captured graph gives what the module gives in eager mode, wherever the module gives anything."""
    names: list[str] = []
    random = _may_draw(program) and _is_random(module, call)
    for case in _cases(call, dims, more):
        want = _eager(module, call, case.tensors)
        if want is None:
            continue
        names = names or list(want)
        if list(want) != names:
            raise _renamed(module, call, case, names, list(want))
        try:
            got = replay(program, [tensor.contiguous() for tensor in case.tensors])
        except RankChanges as error:
            raise _refusal(module, call, case, error.why, error.line) from error
        except Exception as error:  # PyTorch's, for shapes that do not fit
            raise _refusal(module, call, case, f"the captured graph fails: {one_line(error, 200)}") from error
        if why := _difference(want, got, random):
            raise _refusal(module, call, case, why)


def size_conditions(program: Any, call: Call, dims: Sequence[OpenDim]) -> list[Mapping[str, int]]:
    """Sizes at which a condition that the captured graph asserts does not hold: there eager mode decides."""
    symbols = _symbols(program, call, dims)
    found: list[Mapping[str, int]] = []
    for node in program.graph.nodes:
        condition = node.args[0] if node.op == "call_function" and "_assert_scalar" in str(node.target) else None
        expression = getattr(getattr(getattr(condition, "meta", {}).get("val"), "node", None), "expr", None)
        names = {str(symbol) for symbol in getattr(expression, "free_symbols", ())}
        if expression is None or not names or not names <= symbols.keys():
            continue
        for size in _TRIED:
            given = {name: _within(symbols[name], size + at) for at, name in enumerate(sorted(names))}
            if not bool(expression.subs({s: given[str(s)] for s in expression.free_symbols})):
                found.append({dim.name: given.get(name, _within(dim, 2)) for name, dim in symbols.items()})
                break
    return found


_TRIED = (*range(1, 65), 100, 128, 224, 256, 500, 512, 1000, 1024)


def _symbols(program: Any, call: Call, dims: Sequence[OpenDim]) -> dict[str, OpenDim]:
    """The dynamic dims by the names that PyTorch gave them."""
    values = [node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"]
    held = len(values) - len(call.names)
    shapes = dict(zip(call.names, (getattr(value, "shape", ()) for value in values[held:]), strict=True))
    sizes = {dim: shapes[dim.input][dim.axis] for dim in dims if dim.axis < len(shapes[dim.input])}
    return {str(size): dim for dim, size in sizes.items() if not isinstance(size, int)}


def refuse_layout_dependence(module: Any, call: Call) -> None:
    """Raise if the strides of an input decide what the module computes: a converted model sees values alone."""
    tensors = [tensor.contiguous() for tensor in call.tensors]
    lines = lines_calling(module, call, tensors, _READ_LAYOUT)
    plain = _eager(module, call, tensors) if lines else None
    for index, name in enumerate(call.names if plain else ()):
        for strided in _other_layouts(tensors[index]):
            other = _eager(module, call, [strided if place == index else t for place, t in enumerate(tensors)])
            if plain is None or other is None or not _difference(plain, list(other.values()), random=False):
                continue
            raise ConversionError(
                f"the result depends on how input {name!r} lies in memory (strides {tuple(strided.stride())} "
                f"instead of {tuple(tensors[index].stride())}), which a converted model does not see",
                where=lines[0],
                remedy=f"begin forward with {name} = {name}.contiguous(), or index instead of as_strided and stride()",
            )


def _other_layouts(tensor: Any) -> Iterator[Any]:
    """The same values with other strides."""
    if tensor.dim() >= 2 and tensor.numel() > 1:
        yield tensor.movedim(0, -1).contiguous().movedim(-1, 0)
        if tensor.dim() in (4, 5):
            yield tensor.movedim(1, -1).contiguous().movedim(-1, 1)


def _cases(call: Call, dims: Sequence[OpenDim], more: Sequence[Mapping[str, int]]) -> Iterator[_Case]:
    generator = torch.Generator().manual_seed(_SEED)
    yield _Case("on the example", call.tensors)
    yield _Case("on other values than the example's", [_drawn(tensor, generator) for tensor in call.tensors])
    names = list(dict.fromkeys(dim.name for dim in dims))
    bounds = {dim.name: dim for dim in dims}
    usual = [{name: _within(bounds[name], row[at % len(row)]) for at, name in enumerate(names)} for row in _SIZES]
    seen: list[Mapping[str, int]] = []
    for sizes in (*usual, *more) if names else ():
        if sizes in seen or not all(tensor.numel() for tensor in call.tensors):
            continue
        seen.append(sizes)
        words = ", ".join(f"{name} = {size}" for name, size in sizes.items())
        yield _Case(f"at {words}", [_drawn(tensor, generator) for tensor in resized(call, dims, sizes)])


def _within(dim: OpenDim, size: int) -> int:
    low = max(dim.low, 1)
    return max(low, size if dim.high is None else min(size, dim.high))


def _drawn(tensor: Any, generator: Any) -> Any:
    """Other values of the same kind: floats of both signs, integers and booleans from among the example's."""
    if tensor.dtype == torch.bool:
        return torch.rand(tensor.shape, generator=generator) < 0.5
    if tensor.is_floating_point() or tensor.is_complex():
        spread = float(tensor.detach().abs().float().mean()) if tensor.numel() and not tensor.is_complex() else 1.0
        kind = torch.float32 if tensor.is_floating_point() else torch.complex64
        return (torch.randn(tensor.shape, generator=generator, dtype=kind) * (spread or 1.0)).to(tensor.dtype)
    if not tensor.numel():
        return tensor
    picked = torch.randint(tensor.numel(), tuple(tensor.shape), generator=generator)
    return tensor.reshape(-1)[picked]


def _eager(module: Any, call: Call, tensors: Sequence[Any], seed: int = _SEED) -> Mapping[str, Any] | None:
    """The module's own result; None where it does not take these inputs."""
    state = torch.random.get_rng_state()
    torch.manual_seed(seed)
    try:
        with inference(module):
            return call.run(module, [tensor.clone() for tensor in tensors])
    except Exception:  # whatever the module's own code raises
        return None
    finally:
        torch.random.set_rng_state(state)


def _is_random(module: Any, call: Call) -> bool:
    """True if the seed decides what the module gives: two runs then agree in shapes alone."""
    generator = torch.Generator().manual_seed(_SEED)
    for tensors in (call.tensors, [_drawn(tensor, generator) for tensor in call.tensors]):
        first, second = (_eager(module, call, tensors, seed) or {} for seed in (_SEED, _SEED + 1))
        if _difference(first, list(second.values()), random=False):
            return True
    return False


def _may_draw(program: Any) -> bool:
    """True if the captured graph holds operators that draw random numbers, if only in training mode."""
    graphs = [part for part in program.graph_module.modules() if isinstance(part, torch.fx.GraphModule)]
    targets = [node.target for graph in graphs for node in graph.graph.nodes if node.op == "call_function"]
    return any(torch.Tag.nondeterministic_seeded in getattr(target, "tags", ()) for target in targets)


def _difference(want: Mapping[str, Any], got: Sequence[Any], random: bool) -> str:
    if len(want) != len(got):
        return f"it gives {len(got)} outputs, the module {len(want)}"
    for (name, wanted), given in zip(want.items(), got, strict=True):
        if wanted.shape != given.shape:
            return f"output {name!r} has shape {list(given.shape)}, in eager mode {list(wanted.shape)}"
        if wanted.dtype != given.dtype:
            return f"output {name!r} has dtype {given.dtype}, in eager mode {wanted.dtype}"
        if not random and not _is_near(given, wanted):
            return f"output {name!r} has other values than in eager mode"
    return ""


def _is_near(got: Any, want: Any) -> bool:
    """Coarse on purpose: another case gives another result, not another rounding. NaN must stand in the same places."""
    if not want.numel():
        return True
    if not (want.is_floating_point() or want.is_complex()):
        # An index among near equals may turn over by rounding; another case changes more than that.
        return float((got != want).double().mean()) <= 0.01
    wide = torch.complex128 if want.is_complex() else torch.float64
    a, b = got.detach().to(wide), want.detach().to(wide)
    if not want.is_complex() and not torch.equal(torch.isnan(a), torch.isnan(b)):
        return False
    size = torch.nan_to_num(b.abs(), nan=0.0, posinf=0.0).amax().item()
    return bool(torch.allclose(a, b, rtol=_RTOL, atol=_RTOL * size, equal_nan=True))


_RTOL = 1e-2


def _renamed(module: Any, call: Call, case: _Case, names: Sequence[str], given: Sequence[str]) -> ConversionError:
    return ConversionError(
        f"{case.words} the outputs are {', '.join(given)}, on the example {', '.join(names)}: a converted model has "
        "the same outputs for all inputs",
        where=first_divergence(module, call, call.tensors, case.tensors) or f"output {given[0]!r}",
        remedy="use keys that do not depend on sizes or data",
    )


def _refusal(module: Any, call: Call, case: _Case, why: str, line: str = "") -> ConversionError:
    place = first_divergence(module, call, call.tensors, case.tensors) or line
    return ConversionError(
        f"{case.words} {why}: torch.export recorded one case of several",
        where=place or "the module",
        remedy="write what depends on a size or on data as torch.cond or torch.where, leave that dim out of the "
        "dynamic ones, or give its range: x.0=batch(2..64)",
    )
