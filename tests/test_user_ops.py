"""Operators that users declare: by file, by module, by an installed package's entry point."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import onnx
import onnx.helper as oh
import pytest
import tensorflow as tf
from onnx import TensorProto

import trueport
from tests.models import model_of, relu_chain
from trueport.errors import EmitError, InvalidModel, Unsupported, UsageError

HANDLER = """
from trueport import maps

@maps("Scale", domain="com.acme"{options})
def scale(t, X, *, factor=1.0):
    return X * {factor}
"""
X = np.array([[1, -2, 3]], np.float32)


def scaled(**attributes: object) -> onnx.ModelProto:
    return model_of(
        [oh.make_node("Scale", ["x"], ["y"], "scale", domain="com.acme", **attributes)],
        [oh.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
        [oh.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])],
        opsets=[oh.make_opsetid("com.acme", 1)],
    )


def write(path: Path, factor: str = "factor", options: str = "") -> Path:
    path.write_text(HANDLER.format(factor=factor, options=options))
    return path


def result(conversion: trueport.Conversion) -> list[list[float]]:
    return conversion.model(tf.constant(X))["y"].numpy().tolist()


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution on sys.path that lists its module under the entry point."""
    site = tmp_path / "site"
    site.mkdir()
    write(site / "acme_ops.py", factor="100")
    info = site / "acme_ops-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-ops\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[trueport.ops]\nacme = acme_ops\n")
    monkeypatch.syspath_prepend(str(site))
    importlib.invalidate_caches()
    yield
    sys.modules.pop("acme_ops", None)


def test_an_entry_point_in_the_current_folder_is_not_loaded(
    installed: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Modules may be found there, because the user named one; a package that lies there was named by nobody."""
    monkeypatch.chdir(tmp_path / "site")
    with pytest.raises(Unsupported, match=r"com\.acme::Scale has no mapping"):
        trueport.convert(scaled(), verify=False)


def test_without_a_declaration_it_is_refused() -> None:
    with pytest.raises(Unsupported, match=r"com\.acme::Scale has no mapping"):
        trueport.convert(scaled(), verify=False)


def test_by_file_with_an_attribute_and_its_default(tmp_path: Path) -> None:
    ops = [write(tmp_path / "ops.py")]
    assert result(trueport.convert(scaled(factor=2.0), ops=ops, verify=False)) == [[2, -4, 6]]
    assert result(trueport.convert(scaled(), ops=ops, verify=False)) == [[1, -2, 3]]


def test_by_module_and_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "named_acme_ops.py")
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("named_acme_ops")
    for ops in (module, "named_acme_ops"):
        conversion = trueport.convert(scaled(factor=3.0), ops=[ops], verify=False)
        assert result(conversion) == [[3, -6, 9]]
        assert conversion.report.users_operators == {"com.acme::Scale": "named_acme_ops"}


def test_by_entry_point(installed: None) -> None:
    assert result(trueport.convert(scaled(), verify=False)) == [[100, -200, 300]]
    assert trueport.check(scaled()).fidelity.name == "EXACT"


def test_what_is_given_comes_before_what_is_installed(installed: None, tmp_path: Path) -> None:
    ops = [write(tmp_path / "ops.py", factor="7")]
    assert result(trueport.convert(scaled(), ops=ops, verify=False)) == [[7, -14, 21]]


def test_an_operator_of_onnx_may_be_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "ops.py"
    path.write_text("from trueport import maps\n@maps('Relu', audited=14)\ndef relu(t, X):\n    return X + 5\n")
    conversion = trueport.convert(relu_chain(1), ops=[path], verify=False)
    assert result(conversion) == [[6, 3, 8]]
    assert conversion.report.users_operators == {"Relu": "ops"}


def test_two_declarations_of_one_operator_are_refused(tmp_path: Path) -> None:
    ops = [write(tmp_path / "one.py"), write(tmp_path / "two.py")]
    with pytest.raises(UsageError, match="declared twice: in one and in two"):
        trueport.convert(scaled(), ops=ops, verify=False)


def test_a_declaration_with_a_numpy_definition_is_compared(tmp_path: Path) -> None:
    right = write(tmp_path / "right.py", options=", reference=lambda x, factor=1.0: x * x.dtype.type(factor)")
    wrong = write(tmp_path / "wrong.py", "(factor + 1)", ", reference=lambda x, factor=1.0: x * x.dtype.type(factor)")
    verdicts = [trueport.convert(scaled(factor=2.0), ops=[path]).report.verdict for path in (right, wrong)]
    assert [verdict.value for verdict in verdicts] == ["faithful", "departs"]


def test_without_one_it_says_that_nothing_was_compared(tmp_path: Path) -> None:
    report = trueport.convert(scaled(), ops=[write(tmp_path / "ops.py")]).report
    assert report.verdict is None or report.verdict.value != "faithful"
    assert "neither ONNX Runtime" in str(report)


def test_an_attribute_that_the_handler_does_not_take(tmp_path: Path) -> None:
    with pytest.raises(InvalidModel, match="'offset' is not taken by the handler"):
        trueport.convert(scaled(offset=1.0), ops=[write(tmp_path / "ops.py")], verify=False)


def test_a_handler_that_fails_names_the_node(tmp_path: Path) -> None:
    with pytest.raises(EmitError, match="node 'scale'") as caught:
        trueport.convert(scaled(), ops=[write(tmp_path / "ops.py", factor="undefined_name")], verify=False)
    assert "undefined_name" in str(caught.value)


@pytest.mark.parametrize("ops", ["missing.py", "no_such_module_anywhere"])
def test_what_is_not_there(ops: str) -> None:
    with pytest.raises(UsageError, match="there is no"):
        trueport.convert(scaled(), ops=[ops], verify=False)


@pytest.mark.parametrize(
    "code, says",
    [
        ("def broken(:\n", "SyntaxError"),
        ("1 / 0\n", "ZeroDivisionError"),
        ("import no_such_module_anywhere\n", "no_such_module_anywhere"),
        (
            "from trueport import maps\nfrom trueport.fidelity import LOSSY\nmaps('A', fidelity=LOSSY)(print)\n",
            "because=",
        ),
    ],
    ids=["syntax", "raises", "imports", "declares wrongly"],
)
def test_a_module_that_cannot_be_loaded(code: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "ops.py").write_text(code)
    with pytest.raises(UsageError, match=says):
        trueport.check(scaled(), ops=[tmp_path / "ops.py"])


def test_conversions_do_not_disturb_each_other(tmp_path: Path) -> None:
    trueport.convert(scaled(), ops=[write(tmp_path / "ops.py")], verify=False)
    with pytest.raises(Unsupported):
        trueport.convert(scaled(), verify=False)
