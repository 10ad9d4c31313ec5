"""The JSON of a PyTorch program, parts of which PyTorch evaluates as Python: targets, sizes, guards, factories."""

from __future__ import annotations

import ast
import builtins
import json
import re
from collections.abc import Iterator
from typing import Any

from trueport.consent.torch_operators import effect_of

__all__ = ["reasons_against"]

_OPERATOR = re.compile(
    r"torch\.ops\.(_?[A-Za-z]\w*)\.(_?[A-Za-z]\w*|__i?(?:and|or|xor|lshift|rshift)__"
    r"|__(?:contains|getitem|is|isnot|not)__)(\.(?!__)\w+)?"
)
_ARITHMETIC = re.compile(
    r"math\.[a-z]\w*|torch\.(_sym|sym)_\w+|_operator\.(add|sub|mul|truediv|floordiv|mod|pow|neg|pos|abs|and_|or_|xor|not_"
    r"|invert|lshift|rshift|eq|ne|lt|le|gt|ge|getitem|matmul|index|is_|is_not|concat|contains|truth)"
)
_WORD = re.compile(r"[\w.\-]*")
_FUNCTION = re.compile(
    r"Symbol|Integer|Float|Rational|Add|Mul|Pow|Abs|Max|Min|Mod|Piecewise|ExprCondPair|Tuple|ITE|And|Or|Not|Xor"
    r"|Eq|Ne|Ge|Gt|Le|Lt|Equality|Unequality|(Strict)?(Greater|Less)Than|BooleanTrue|BooleanFalse|Identity|Where"
    r"|(Floor|Clean|Ceil|FloatTrue|IntTrue)Div|ModularIndexing|PythonMod|[LR]Shift|PowByNatural|FloatPow|ToFloat"
    r"|(Ceil|Floor|Trunc|Round)ToInt|TruncToFloat|RoundDecimal|IsNonOverlappingAndDenseIndicator"
    r"|(OpaqueUnaryFn|BitwiseFn)_\w+"
    r"|floor|ceiling|sqrt|exp|log2?|a?(sin|cos|tan)h?|abs|min|max|int|float|bool|len"
)
_METHODS = frozenset(("size", "stride", "storage_offset", "dim", "numel"))
_FIELDS = _METHODS | {"ndim", "shape", "dtype", "device"}
_FACTORIES = frozenset(
    f"builtins.{name}"
    for name in ("bool", "bytes", "complex", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple")
) | frozenset(f"collections.{name}" for name in ("Counter", "OrderedDict", "defaultdict", "deque"))
_PARTS = (
    ast.Expression,
    ast.BinOp,
    ast.UnaryOp,
    ast.BoolOp,
    ast.Compare,
    ast.Constant,
    ast.Name,
    ast.Load,
    ast.keyword,
    ast.operator,
    ast.unaryop,
    ast.boolop,
    ast.cmpop,
    ast.Tuple,
    ast.List,
    ast.Subscript,
    ast.Call,
    ast.Attribute,
)


def reasons_against(program: Any) -> Iterator[str]:
    """Yield what a program's JSON would have PyTorch run beside operators that compute."""
    for part in _mappings(program):
        if "target" in part and ("inputs" in part or "outputs" in part):
            yield from _target(str(part["target"]))
        if "expr_str" in part and not _computes(str(part["expr_str"])):
            yield f"expr_str {part['expr_str']!r} is Python code in the place of a size"
        for guard in part.get("guards_code") or ():
            if not _computes(str(guard)):
                yield f"guards_code {guard!r} is Python code in the place of a condition on sizes"
        name = f"{part.get('default_factory_module')}.{part.get('default_factory_name')}"
        if "default_factory_module" in part and name not in _FACTORIES:
            yield f"default_factory_module: {name} would be called"
        if "__enum__" in part:
            yield f"__enum__: {part.get('fqn')} would be imported"


def _mappings(value: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects, also those in strings that hold JSON themselves, as PyTorch nests them."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            yield item
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
        elif isinstance(item, str) and item.lstrip()[:1] in ("[", "{", '"'):
            try:
                waiting.append(json.loads(item))
            except (ValueError, RecursionError):
                continue


def _target(target: str) -> Iterator[str]:
    if _ARITHMETIC.fullmatch(target):
        return
    match = _OPERATOR.fullmatch(target)
    if match is None:
        yield f"a node calls {target}, which is not an operator"
    elif effect := effect_of(match[1], match[2]):
        yield f"operator {match[1]}::{match[2]} {effect}"


def _computes(code: str) -> bool:
    """True for an expression of numbers, symbols, arithmetic and functions of SymPy; nothing else may be reached."""
    try:
        tree = ast.parse(code.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return all(_is_harmless(node) for node in ast.walk(tree))


def _is_harmless(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        by_word = isinstance(node.value, str) and _WORD.fullmatch(node.value) is not None
        return by_word or isinstance(node.value, (int, float, type(None)))
    if isinstance(node, ast.Name):
        # SymPy finds Python's own functions by their names, and some of its classes call what they are given.
        return not (node.id.startswith("__") or hasattr(builtins, node.id)) or _FUNCTION.fullmatch(node.id) is not None
    if isinstance(node, ast.Attribute):
        return node.attr in _FIELDS or (isinstance(node.value, ast.Name) and node.value.id == "math")
    if isinstance(node, ast.Call):
        return _is_function(node.func)
    return isinstance(node, _PARTS)


def _is_function(called: ast.expr) -> bool:
    """True for what PyTorch writes in sizes: functions of numbers, and SymPy's classes that only build expressions."""
    if isinstance(called, ast.Name):
        return _FUNCTION.fullmatch(called.id) is not None
    by_math = isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "math"
    return isinstance(called, ast.Attribute) and (by_math or called.attr in _METHODS)
