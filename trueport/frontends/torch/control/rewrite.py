"""Branches and loops in a module's own code, made into calls that become real control flow when data decides.

Only simple ones: an ``if`` whose branches set variables or end in ``return``; a ``while`` or ``for … in range`` without
``break``, ``continue`` or ``return``. Whatever else hangs on data stays as it is, and PyTorch's exporter refuses it.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trueport.frontends.torch.control import flow

__all__ = ["rewritten"]

_FLOW = "__trueport_flow__"


@contextmanager
def rewritten(module: Any) -> Iterator[tuple[str, ...]]:
    """Within, the module's own methods are rewritten; gives the places of the statements that were."""
    kinds = {type(part) for part in module.modules() if not type(part).__module__.startswith("torch.")}
    changed: list[tuple[type, str, Any]] = []
    places: list[str] = []
    try:
        for kind in sorted(kinds, key=lambda kind: kind.__qualname__):
            for name, function in list(vars(kind).items()):
                if isinstance(function, types.FunctionType) and not name.startswith("__"):
                    fresh = _rewritten_function(function, places)
                    if fresh is not None:
                        changed.append((kind, name, function))
                        setattr(kind, name, fresh)
        yield tuple(places)
    finally:
        for kind, name, function in changed:
            setattr(kind, name, function)


def _rewritten_function(function: types.FunctionType, places: list[str]) -> types.FunctionType | None:
    """The same function with its statements made into calls; None when there are none, or no source is at hand."""
    try:
        source = textwrap.dedent(inspect.getsource(function))
    except OSError:
        return None
    tree = ast.parse(source)
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef) or definition.decorator_list:
        return None
    rewriter = _Rewriter()
    expressions = _Expressions()
    definition.body = [expressions.visit(statement) for statement in definition.body]
    definition.body = rewriter.block(definition.body)
    rewriter.lines = sorted({*rewriter.lines, *expressions.lines})
    if not rewriter.lines:
        return None
    first = function.__code__.co_firstlineno - 1
    places += [
        f"{Path(function.__code__.co_filename).name}:{line + first} in {function.__name__}" for line in rewriter.lines
    ]
    return _compiled(definition, function, first)


def _compiled(definition: ast.FunctionDef, function: types.FunctionType, first: int) -> types.FunctionType:
    """Compiled inside of a function that has the old one's free names, so that closures and super() go on working."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    names = [*cells, _FLOW]
    outer = ast.FunctionDef(
        name="__outer__",
        args=ast.arguments(
            posonlyargs=[], args=[ast.arg(name) for name in names], kwonlyargs=[], kw_defaults=[], defaults=[]
        ),
        body=[definition, ast.Return(ast.Name(definition.name, ast.Load()))],
        decorator_list=[],
    )
    definition.args.defaults = []
    definition.args.kw_defaults = [None] * len(definition.args.kwonlyargs)
    tree = ast.fix_missing_locations(ast.Module([outer], type_ignores=[]))
    ast.increment_lineno(tree, first)
    code = compile(tree, function.__code__.co_filename, "exec")
    inner = _code_named(_code_named(code, "__outer__"), definition.name)
    cells[_FLOW] = types.CellType(flow)
    fresh = types.FunctionType(
        inner,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        tuple(cells[n] for n in inner.co_freevars),
    )
    fresh.__kwdefaults__ = function.__kwdefaults__
    return fresh


def _code_named(code: types.CodeType, name: str) -> types.CodeType:
    return next(item for item in code.co_consts if isinstance(item, types.CodeType) and item.co_name == name)


def _index(node: ast.expr) -> ast.expr:
    """An index as an expression of its own: ``a:b`` is one only between brackets."""
    if isinstance(node, ast.Slice):
        parts = [part or ast.Constant(None) for part in (node.lower, node.upper, node.step)]
        return _call("between", *parts)
    return ast.Tuple([_index(item) for item in node.elts], ast.Load()) if isinstance(node, ast.Tuple) else node


_BUILTINS = {"len": "length", "min": "least", "max": "greatest"}
"""Functions of Python's that ask a size for its number, and what takes their place."""


class _Expressions(ast.NodeTransformer):
    """``a if test else b`` as a call; in tests ``and``, ``or`` and ``not``, which ask a tensor for its truth."""

    def __init__(self) -> None:
        self.lines: list[int] = []

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        self.lines.append(node.lineno)
        branches = [_lambda(node.body), _lambda(node.orelse)]
        return ast.copy_location(
            _call("choose", _test(node.test), *branches, ast.Tuple([], ast.Load()), _words([])), node
        )

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name(id=("len" | "min" | "max") as name), keywords=[]):
                self.lines.append(node.lineno)
                return ast.copy_location(_call(_BUILTINS[name], _name(name), *node.args), node)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        named = any(isinstance(part, ast.Name) for part in ast.walk(node.slice))
        if not isinstance(node.ctx, ast.Load) or not named:
            return node
        return ast.copy_location(_call("element", node.value, _index(node.slice)), node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as operator], comparators=[right]):
                self.lines.append(node.lineno)
                test = _call("equal", left, right)
                return ast.copy_location(test if isinstance(operator, ast.Eq) else _call("unlike", left, right), node)
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        node.test = _test(node.test)
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        node.test = _test(node.test)
        return node


def _test(node: ast.expr) -> ast.expr:
    match node:
        case ast.BoolOp(op=operator, values=values):
            helper = "every" if isinstance(operator, ast.And) else "some"
            return ast.copy_location(_call(helper, *(_lambda(_test(value)) for value in values)), node)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return ast.copy_location(_call("negate", _test(operand)), node)
        case ast.Call(func=ast.Name(id="bool"), args=[inner], keywords=[]):
            return ast.copy_location(_call("as_test", inner), node)
    return node


def _lambda(body: ast.expr) -> ast.expr:
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(nothing, body)


class _Rewriter:
    """Walks blocks of statements; notes the lines that it rewrote."""

    def __init__(self) -> None:
        self.lines: list[int] = []
        self._made = 0

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for index, statement in enumerate(statements):
            rest = statements[index + 1 :]
            if isinstance(statement, ast.If) and _returns(statement):
                if (made := self._if_returning(statement, rest)) is not None:
                    return [*found, *made]
            elif isinstance(statement, ast.If):
                found += self._if(statement) or [statement]
                continue
            elif isinstance(statement, ast.While) and _is_plain_loop(statement):
                found += self._while(statement)
                continue
            elif isinstance(statement, ast.For) and _is_plain_loop(statement) and _range_of(statement):
                found += self._for(statement)
                continue
            found.append(statement)
        return found

    def _if(self, statement: ast.If) -> list[ast.stmt] | None:
        names = _assigned([*statement.body, *statement.orelse])
        if names is None or not names:
            return None
        self.lines.append(statement.lineno)
        then, otherwise = self._name("then"), self._name("otherwise")
        result = _tuple(names, ast.Load())
        definitions = [
            _function(then, names, [*self.block(statement.body), ast.Return(result)]),
            _function(otherwise, names, [*self.block(statement.orelse), ast.Return(result)]),
        ]
        call = _call("choose", statement.test, _name(then), _name(otherwise), _peeks(names), _words(names))
        return _placed([*definitions, ast.Assign([_tuple(names, ast.Store())], call)], statement)

    def _if_returning(self, statement: ast.If, rest: Sequence[ast.stmt]) -> list[ast.stmt] | None:
        """What follows the statement belongs to the branch that does not return."""
        branches = [
            [*branch, *(() if _always_returns(branch) else rest)] for branch in (statement.body, statement.orelse)
        ]
        if not all(_always_returns(branch) for branch in branches):
            return None
        names = _assigned([item for branch in branches for item in branch])
        if names is None:
            return None
        self.lines.append(statement.lineno)
        then, otherwise = self._name("then"), self._name("otherwise")
        definitions = [
            _function(name, names, self.block(branch)) for name, branch in zip((then, otherwise), branches, strict=True)
        ]
        call = _call("choose", statement.test, _name(then), _name(otherwise), _peeks(names), _words(names))
        return _placed([*definitions, ast.Return(call)], statement)

    def _while(self, statement: ast.While) -> list[ast.stmt]:
        names = _assigned(statement.body)
        if not names:
            return [statement]
        self.lines.append(statement.lineno)
        test, body = self._name("test"), self._name("body")
        definitions = [
            _function(test, names, [ast.Return(statement.test)]),
            _function(body, names, [*self.block(statement.body), ast.Return(_tuple(names, ast.Load()))]),
        ]
        call = _call("repeat", _name(test), _name(body), _peeks(names), _words(names))
        return _placed([*definitions, ast.Assign([_tuple(names, ast.Store())], call)], statement)

    def _for(self, statement: ast.For) -> list[ast.stmt]:
        names = _assigned(statement.body)
        bounds = _range_of(statement)
        if not names or bounds is None or not isinstance(statement.target, ast.Name):
            return [statement]
        self.lines.append(statement.lineno)
        body = self._name("body")
        definition = _function(
            body,
            [statement.target.id, *names],
            [*self.block(statement.body), ast.Return(_tuple(names, ast.Load()))],
        )
        call = _call("count", ast.Tuple(bounds, ast.Load()), _name(body), _peeks(names), _words(names))
        return _placed([definition, ast.Assign([_tuple(names, ast.Store())], call)], statement)

    def _name(self, what: str) -> str:
        self._made += 1
        return f"__{what}_{self._made}"


def _assigned(statements: Sequence[ast.stmt]) -> list[str] | None:
    """Names that are set; None when something else than a plain name is (an attribute, an element), or deleted."""
    found: dict[str, None] = {}
    for statement in statements:
        for node in _own_nodes(statement):
            if isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)) and not isinstance(node.ctx, ast.Load):
                return None
            if isinstance(node, (ast.Delete, ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom, ast.Try, ast.With)):
                return None
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found[node.id] = None
    return list(found)


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """All below a statement that belongs to this function, not to one defined in it."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(
            child, (ast.FunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
        ):
            yield from _own_nodes(child)


def _returns(statement: ast.stmt) -> bool:
    return any(isinstance(node, ast.Return) for node in _own_nodes(statement))


def _always_returns(block: Sequence[ast.stmt]) -> bool:
    if not block:
        return False
    last = block[-1]
    if isinstance(last, ast.If):
        return _always_returns(last.body) and _always_returns(last.orelse)
    return isinstance(last, ast.Return) and last.value is not None


def _is_plain_loop(statement: ast.While | ast.For) -> bool:
    leaves = (ast.Break, ast.Continue, ast.Return)
    return not statement.orelse and not any(isinstance(node, leaves) for node in _own_nodes(statement))


def _range_of(statement: ast.For) -> list[ast.expr] | None:
    match statement.iter:
        case ast.Call(func=ast.Name(id="range"), args=args, keywords=[]):
            return [_bound(arg) for arg in args]
    return None


def _bound(arg: ast.expr) -> ast.expr:
    """``int(x)`` and ``x.item()`` as the whole bound: the tensor itself would do."""
    match arg:
        case ast.Call(func=ast.Name(id="int"), args=[inner], keywords=[]):
            return _call("as_count", inner)
        case ast.Call(func=ast.Attribute(value=inner, attr="item"), args=[], keywords=[]):
            return _call("as_count", inner)
    return arg


def _function(name: str, parameters: Sequence[str], body: list[ast.stmt]) -> ast.stmt:
    arguments = ast.arguments(
        posonlyargs=[], args=[ast.arg(p) for p in parameters], kwonlyargs=[], kw_defaults=[], defaults=[]
    )
    return ast.FunctionDef(name=name, args=arguments, body=body, decorator_list=[])


def _call(helper: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.Attribute(_name(_FLOW), helper, ast.Load()), list(arguments), [])


def _peeks(names: Sequence[str]) -> ast.expr:
    """The names' values, also of those that have none yet."""
    return ast.Tuple([_call("peek", _lambda(_name(name))) for name in names], ast.Load())


def _words(names: Sequence[str]) -> ast.expr:
    return ast.Constant(", ".join(names))


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _tuple(names: Sequence[str], context: ast.expr_context) -> ast.expr:
    return ast.Tuple([ast.Name(name, context) for name in names], context)


def _placed(statements: list[ast.stmt], where: ast.stmt) -> list[ast.stmt]:
    """New statements stand at the line of the one that they replace; those inside keep theirs."""
    for statement in statements:
        ast.copy_location(statement, where)
    return statements
