"""The selections follow the layout: nothing that names an operator is missed, no family is left without a test."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.selection.emitters import operations
from tests.selection.modules import mentions_of
from tests.selection.names import means, mentioned, names, texts
from tests.selection.quick import rule_of

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("name", "operator"),
    [
        ("tf.nn.leaky_relu", "LeakyRelu"),
        ("keras.layers.LeakyReLU", "LeakyRelu"),
        ("tf.image.resize", "Resize"),
        ("image_resize", "Resize"),
        ("torch.special.erf", "Erf"),
    ],
)
def test_a_public_name_means_an_operator(name: str, operator: str) -> None:
    assert means(name, operator)


@pytest.mark.parametrize(("name", "operator"), [("tf.nn.leaky_relu", "Relu6"), ("torch.erfinv", "Erf"), ("", "Erf")])
def test_another_name_does_not(name: str, operator: str) -> None:
    assert not means(name, operator)


def test_a_text_names_an_operator() -> None:
    assert names("y = LeakyRelu <alpha = 0.1> (x)", {"LeakyRelu"}) and names("leaky relu", {"LeakyRelu"})
    assert not names("this and that", {"And"}) and not names("QLinearLeakyRelu", {"LeakyRelu"})


def test_code_mentions_what_is_no_docstring() -> None:
    code = '"""Resize."""\nx = "Resize, Conv"\ny = tf.raw_ops.Relu\n'
    body = ast.parse(code).body
    assert mentioned(body, {"Conv"}) and mentioned(body, {"Relu"})
    assert not mentioned(body[:1], {"Resize"}) and not mentioned(body, {"Con"})


def test_texts_of_a_row() -> None:
    assert list(texts(("Add", ["Sub"], {"op": "Mul"}, 3))) == ["Add", "Sub", "op", "Mul"]


def test_helpers_count_for_the_tests_that_call_them() -> None:
    found = mentions_of(TESTS / "grid" / "test_resize.py", frozenset({"Resize"}))
    assert {"test_nearest", "test_interpolation"} <= found.by_body


def test_operations_are_found_through_functions_of_their_module() -> None:
    assert {"ResizeBilinear", "ResizeNearestNeighbor"} <= operations("tensorflow", "Resize")
    assert "LeakyRelu" in operations("tensorflow", "LeakyRelu")
    assert not operations("tensorflow", "Frobnicate")


@pytest.mark.parametrize("folder", ["grid", "frontends"])
def test_each_family_has_a_quick_test(folder: str) -> None:
    assert all(rule_of(file) for file in (TESTS / folder).glob("test_*.py"))
    assert not rule_of(TESTS / "verifying" / "test_locate.py")
