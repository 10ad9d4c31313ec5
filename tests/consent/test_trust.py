"""What --trust is named for as a remedy, it does."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import keras
import pytest

import trueport
from trueport.errors import Untrusted

_LAYERS = """
import keras


class Doubled(keras.layers.Layer):
    def call(self, x):
        return x * 2.0
"""


def test_a_trusted_file_of_keras_3_finds_its_classes_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "layers_of_the_author.py").write_text(_LAYERS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    layers = importlib.import_module("layers_of_the_author")
    x = keras.Input((2,), name="x")
    keras.Model(x, layers.Doubled(name="y")(x)).save("model.keras")
    monkeypatch.delitem(sys.modules, "layers_of_the_author")
    with pytest.raises(Untrusted, match=r"layers_of_the_author\.Doubled .*\n.*--trust"):
        trueport.check("model.keras")
    assert trueport.check("model.keras", trust=True).findings
