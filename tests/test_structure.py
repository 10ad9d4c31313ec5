"""The flow is the layout: imports point one way, files and functions stay small, frameworks load late."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import onnx
import pytest

import trueport

ROOT = Path(trueport.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

LEVELS = {
    "errors": 0,
    "locks": 0,
    "quiet": 0,
    "quoting": 0,
    "lazy": 1,
    "requirements": 1,
    "fidelity": -1,
    "operators": 0,
    "versions": 0,
    "ir": 1,
    "consent": 2,
    "mapping": 3,
    "formulas": 4,
    "stages": 4,
    "passes": 4,
    "runtimes": 4,
    "drawing": 5,
    "checking": 5,
    "frontends": 6,
    "backends": 6,
    "reference": 7,
    "verifying": 8,
    "report": 9,
    "surgery": 9,
    "sources": 10,
    "comparison": 11,
    "pipeline": 11,
    "backend": 12,
    "cli": 12,
    "__main__": 13,
    "__init__": 13,
}
FRAMEWORKS = {"tensorflow", "keras", "torch", "onnxruntime", "tf_keras", "ai_edge_litert"}


def room(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path: Path) -> Iterator[str]:
    """Modules a file imports when it runs; imports for type checking only do not count."""
    tree = ast.parse(path.read_text())
    guarded = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in guarded:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def imported_late(path: Path) -> set[str]:
    """Modules imported inside of functions only: a framework's own rooms may, where a lazy stand-in won't do."""
    tree = ast.parse(path.read_text())
    inside = [
        node
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, (ast.Import, ast.ImportFrom))
    ]
    early = {alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names}
    early |= {node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)}
    plain = {alias.name for node in inside if isinstance(node, ast.Import) for alias in node.names}
    members = {node.module or "" for node in inside if isinstance(node, ast.ImportFrom)}
    members |= {f"{n.module}.{alias.name}" for n in inside if isinstance(n, ast.ImportFrom) for alias in n.names}
    return (plain | members) - early


def violations(rule: Callable[[Path], Iterator[str]]) -> list[str]:
    """Return what a rule says of all files, each with the file's path."""
    return [f"{path.relative_to(ROOT)}: {found}" for path in FILES for found in rule(path)]


def imports_of_the_package(path: Path) -> Iterator[list[str]]:
    """Yield what a file imports of this package, as the parts of its path below it."""
    for module in imported(path):
        parts = module.split(".")
        if parts[0] == "trueport" and len(parts) > 1:
            yield parts[1:]


def imports_upward(path: Path) -> Iterator[str]:
    here, late = room(path), imported_late(path)
    for module in imported(path):
        framework = module.split(".")[0]
        if framework in FRAMEWORKS and not (module in late and framework in path.parts):
            yield f"{module} is imported when the module is read; use trueport.lazy"
    for there in imports_of_the_package(path):
        if there[0] in LEVELS and there[0] != here and LEVELS[there[0]] >= LEVELS[here]:
            yield f"imports {'.'.join(there)}"


def test_imports_point_one_way() -> None:
    assert not violations(imports_upward)


def imports_a_neighbour(path: Path) -> Iterator[str]:
    """Frontends and backends know nothing of each other, nor of one another; what writes files serves all backends."""
    here = path.relative_to(ROOT).parts
    if here[0] not in ("frontends", "backends") or len(here) == 2:
        return
    for there in imports_of_the_package(path):
        if len(there) > 1 and there[0] in ("frontends", "backends") and there[1] not in (here[1], "writing"):
            yield f"imports {'.'.join(there)}"


def test_frontends_and_backends_do_not_import_each_other() -> None:
    known = {
        "backends/tflite/target.py": "TFLite is a chain of two targets: TensorFlow's, then its converter",
    }
    assert {found.split(":")[0] for found in violations(imports_a_neighbour)} == set(known)


def imports_what_is_judged(path: Path) -> Iterator[str]:
    """The verifier sees runtimes and references; a reference sees how a source was captured, never its translation."""
    here = room(path)
    for there in imports_of_the_package(path):
        captures = there[0] == "frontends" and (there[1] == "onnx" or there[2:3] in (["source"], ["_tf"], ["_torch"]))
        judged = ("frontends", "backends", "formulas", *(("passes",) if here == "verifying" else ()))
        if here in ("verifying", "reference") and there[0] in judged and not (here == "reference" and captures):
            yield f"imports {'.'.join(there)}"


def test_the_verifier_imports_nothing_of_what_it_judges() -> None:
    assert not violations(imports_what_is_judged)


def sizes(path: Path) -> Iterator[str]:
    text = path.read_text()
    if text.count("\n") > 400:
        yield f"{text.count(chr(10))} lines"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            if length > 60:
                yield f"{node.name} has {length} lines"


def test_files_and_functions_are_small() -> None:
    assert not violations(sizes)


def undescribed(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text())
    if not tree.body:
        return
    if not ast.get_docstring(tree):
        yield "no docstring"
    assigned = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    assigned += [node.target for node in tree.body if isinstance(node, ast.AnnAssign)]
    names = {target.id for target in assigned if isinstance(target, ast.Name)}
    if any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in tree.body) and "__all__" not in names:
        yield "no __all__"


def test_every_module_says_what_it_is_and_what_it_offers() -> None:
    assert not violations(undescribed)


def test_nothing_is_swallowed() -> None:
    """No bare except, and no handler that only passes."""
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ExceptHandler):
                assert node.type is not None, f"bare except in {path}:{node.lineno}"
                assert not all(isinstance(s, ast.Pass) for s in node.body), f"swallowed in {path}:{node.lineno}"


def asks_for_a_version(node: ast.AST) -> bool:
    """True for a comparison with a version, or for a tool that takes versions apart."""
    if isinstance(node, ast.ImportFrom | ast.Import):
        names = [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
        return any(name.partition(".")[0] == "packaging" for name in names)
    if not isinstance(node, ast.Compare):
        return False
    words = {getattr(part, "attr", getattr(part, "id", "")) for part in ast.walk(node)}
    return bool(words & {"__version__", "VERSION", "version_info", "hexversion", "onnx_opset_version"})


def compares_versions(path: Path) -> Iterator[str]:
    if room(path) != "versions":
        yield from (f"line {node.lineno}" for node in ast.walk(ast.parse(path.read_text())) if asks_for_a_version(node))


def test_versions_are_compared_in_one_room() -> None:
    assert not violations(compares_versions)


def fresh_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_import_loads_no_framework() -> None:
    loaded = fresh_python("import sys, trueport; print(*sys.modules)").split()
    assert not (FRAMEWORKS | {"onnx", "onnx_ir", "numpy"}) & set(loaded)


def test_declarations_need_no_framework() -> None:
    """check works where TensorFlow is not installed."""
    code = (
        "import sys\n"
        "sys.modules['tensorflow'] = None\n"
        "from trueport.backends.tensorflow.registry import registry\n"
        "print(len(registry()))"
    )
    assert int(fresh_python(code)) > 150


def test_help_loads_little() -> None:
    """It answers at once: what takes time is loading modules, and their number does not depend on the machine."""
    code = (
        "import sys\n"
        "from trueport.cli import main\n"
        "sys.argv = ['trueport', '--help']\n"
        "try:\n    main()\n"
        "except SystemExit:\n    pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stderr.split()
    assert "Usage" in done.stdout
    assert not (FRAMEWORKS | {"onnx", "onnx_ir", "numpy", "ml_dtypes"}) & set(loaded)
    assert len([name for name in loaded if name.startswith("trueport")]) < 30


def test_public_names_exist() -> None:
    for name in trueport.__all__:
        assert getattr(trueport, name) is not None


def test_no_folder_hides_a_function() -> None:
    """A submodule's name becomes an attribute of the package when it is imported."""
    rooms = {path.stem for path in ROOT.iterdir()}
    assert not {"convert", "check", "verify", "load", "run"} & rooms


CONTAINERS = (ast.Tuple, ast.List, ast.Set, ast.Dict, ast.MatchOr, ast.BinOp, ast.Starred, ast.MatchValue)
"""Expressions that hold names; a union or a sum of tables is one table."""
CONSTRUCTORS = {"dict", "frozenset", "fromkeys", "list", "MappingProxyType", "set", "split", "tuple"}
TABLES_OF_THEIR_OWN = {
    "backends/onnx/amend.py": "replacements by operator: implementations",
    "backends/onnx/oldest.py": "kernels that one release of ONNX Runtime lacks: the target's own",
    "backends/onnx/opset.py": "operators that this target replaces for an older release, each with its reason",
    "backends/tensorflow/kernels/recurrence.py": "activations by name: implementations",
    "frontends/tensorflow/shared/affine_sizes.py": "arithmetic on sizes by operator: implementations",
    "frontends/tensorflow/translate/folding.py": "TensorFlow's operations, some of which have the names of ONNX's",
    "frontends/torch/exporter/faults.py": "what an exporter computes, in NumPy: implementations",
    "passes/dims.py": "operators on sizes that are known in part: implementations",
    "passes/simplify.py": "when a node does nothing, by operator: implementations",
    "reference/onnx/classic_ml.py": "operators in NumPy: implementations",
    "reference/onnx/evaluate.py": "how bodies are walked: implementations",
    "reference/onnx/kernels.py": "operators in NumPy: implementations",
    "reference/onnx/microsoft/fused.py": "operators and activations in NumPy: implementations",
    "reference/onnx/microsoft/preliminary.py": "operators in NumPy: implementations",
    "reference/onnx/microsoft/quantized.py": "operators in NumPy: implementations",
    "verifying/coverage/sides.py": "what an operator decides, in NumPy: implementations",
    "verifying/coverage/tables.py": "what an operator decides, in NumPy: implementations",
    "verifying/inputs/flow/numbers.py": "integers that are made of sizes, by operator: implementations",
    "verifying/inputs/flow/shapes.py": "shapes for many sizes at once, by operator: implementations",
    "verifying/inputs/flow/windows.py": "shapes for many sizes at once, by operator: implementations",
    "reference/tensorflow/misreadings.py": "TensorFlow's operations, some of which have the names of ONNX's",
    "verifying/inputs/reach/observe.py": "integer arithmetic in float64, by operator: implementations",
    "verifying/causes/approximations.py": "formulas that stand for an operator: implementations",
}
"""Files with tables of three or more ONNX operators, each with the reason why the table states no fact about them."""
HANDLERS = ("operators/", "formulas/", "passes/upgrade/", "passes/lower/", "passes/recognize/")


def operator_names(node: ast.AST, known: frozenset[str]) -> set[str]:
    """Return the operators that an expression lists: in a literal, a constructor's arguments, or words of a text."""
    if isinstance(node, ast.Constant):
        words = node.value.split() if isinstance(node.value, str) else []
        found = known.intersection(words)
        return set(found) if len(words) == 1 or len(found) > 2 else set()
    called = getattr(node.func, "id", getattr(node.func, "attr", "")) if isinstance(node, ast.Call) else ""
    if isinstance(node, CONTAINERS) or called in CONSTRUCTORS:
        inner = (part for child in ast.iter_child_nodes(node) for part in unwrapped(child))
        return {name for part in inner for name in operator_names(part, known)}
    return set()


def unwrapped(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what an attribute is taken of (the text of ``"A B".split``), else the node itself."""
    yield node.value if isinstance(node, ast.Attribute) else node


def operator_tables(code: str, known: frozenset[str]) -> list[tuple[int, set[str]]]:
    """Return lines and names of all tables of three or more operators in a module's code, docstrings left out."""
    tree = ast.parse(code)
    texts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found, waiting = [], [tree]
    while waiting:
        node: ast.AST = waiting.pop()
        names = operator_names(node, known) if id(node) not in texts else set()
        if len(names) > 2:
            found.append((getattr(node, "lineno", 0), names))
        elif id(node) not in texts:
            waiting += ast.iter_child_nodes(node)
    return found


def known_operators() -> frozenset[str]:
    return frozenset(schema.name for schema in onnx.defs.get_all_schemas_with_history())


def test_facts_about_operators_have_one_home() -> None:
    """No table of three or more operators of ONNX outside of `operators` and the handlers."""
    known = known_operators()
    tables = {}
    for path in FILES:
        name = path.relative_to(ROOT).as_posix()
        if (
            not name.startswith(HANDLERS)
            and "/ops/" not in name
            and (found := operator_tables(path.read_text(), known))
        ):
            tables[name] = found
    assert not {name: found for name, found in tables.items() if name not in TABLES_OF_THEIR_OWN}
    assert not set(TABLES_OF_THEIR_OWN) - set(tables), "these need no exception any more"


@pytest.mark.parametrize(
    "code",
    [
        'A = {"Add", "Mul", "Sub"}',
        'A = frozenset({"Add", "Mul"} | {"Sub"})',
        'A = ("Add", *("Mul", "Sub"))',
        'A = {("Add", 1): f, ("Mul", 0): f, ("Sub", 1): f}',
        'A = dict.fromkeys(["Add", "Mul", "Sub"], 1)',
        'A = "Add Mul Sub".split()',
        'A = """Add Mul\\n Sub"""',
        'def f(op):\n    return op in ("Add", "Mul", "Sub")',
        'match op:\n    case "Add" | "Mul" | "Sub":\n        pass',
    ],
)
def test_tables_of_operators_are_found(code: str) -> None:
    assert [names for _, names in operator_tables(code, known_operators())] == [{"Add", "Mul", "Sub"}]


@pytest.mark.parametrize(
    "code", ['A = {"Add", "Mul"}', '"""Add Mul Sub"""', 'f("Add"), f("Mul"), f("Sub")', 'A = ("add", "mul", "sub")']
)
def test_other_lists_are_no_tables_of_operators(code: str) -> None:
    assert not operator_tables(code, known_operators())


def test_keras_to_onnx_does_not_load_the_tensorflow_backend() -> None:
    code = (
        "import sys\n"
        "import trueport.sources.tensorflow, trueport.backends.onnx.target, trueport.pipeline\n"
        "import trueport.verifying.verify, trueport.verifying.locate.locate_and_explain\n"
        "import trueport.verifying.reproduce.reproducer\n"
        "print(*[name for name in sys.modules if name.startswith('trueport.backends.tensorflow')])"
    )
    assert fresh_python(code) == ""
