"""Real reports of both directions, made once; a page in a real browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest

import trueport
from tests.report import networks
from trueport.report.data import Report


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="session")
def to_tensorflow(folder: Path) -> Report:
    """A small residual network, from ONNX, with everything measured."""
    onnx.save(networks.residual(), folder / "residual.onnx")
    return trueport.convert_file(folder / "residual.onnx", folder / "residual", profile=True)


@pytest.fixture(scope="session")
def to_onnx(folder: Path) -> Report:
    """A Keras model, to ONNX."""
    networks.classifier().save(folder / "classifier.keras")
    return trueport.convert_file(folder / "classifier.keras", folder / "classifier.onnx")


@pytest.fixture(scope="session")
def first_form() -> str:
    """A report as the first version of Trueport wrote it."""
    return Path(__file__).with_name("report-1.json").read_text()


@pytest.fixture(scope="session")
def departing(to_tensorflow: Report) -> dict[str, object]:
    """The data of a report whose target departs in the middle."""
    return networks.departing(json.loads(to_tensorflow.to_json()))


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    sync = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    chromium = networks.chromium()
    if chromium is None:
        pytest.skip("there is no chromium")
    with sync.sync_playwright() as playwright:
        quiet = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
        opened = playwright.chromium.launch(executable_path=chromium, args=quiet, timeout=networks.PATIENCE)
        yield opened
        opened.close()
