"""Errors about the place where an output is to be written."""

from __future__ import annotations

import errno
import tempfile
import zipfile
from pathlib import Path
from unittest import mock

import tensorflow as tf

import trueport
from tests.errors.case import Case, cli
from tests.errors.cases_usage import model
from tests.models import relu_chain
from trueport.backends.tensorflow.build import save
from trueport.backends.writing.claim import claimed

__all__ = ["CASES"]


def _convert(output: str, *words: str) -> None:
    cli("convert", model(), "-o", output, "--no-verify", *words)


def _documents() -> None:
    Path("papers").mkdir()
    Path("papers", "thesis.txt").touch()
    _convert("papers", "--overwrite")


def _dangling_link() -> None:
    Path("saved").symlink_to("nowhere")
    _convert("saved", "--overwrite")


def _claimed_by_another() -> None:
    with claimed("saved", "tensorflow"):
        _convert("saved")


def _taken_data_file() -> None:
    Path("m.onnx.0123abcd.data").touch()
    with claimed("m.onnx", "onnx") as claim, claim.written_aside() as fresh:
        fresh.touch()
        (fresh.parent / "m.onnx.0123abcd.data").touch()


def _full_disk_in_tensorflow() -> None:
    error = tf.errors.UnknownError(None, None, "{{node SaveV2}} variables.data; No space left on device [Op:SaveV2]")
    # As the writer sees it: in some orders of tests a patch of the module imported here had no effect.
    with mock.patch.object(save.tf.saved_model, "save", side_effect=error):
        trueport.convert(relu_chain(), verify=False).save("saved")


def _no_temporary_folder() -> None:
    with zipfile.ZipFile("model.zip", "w") as archive:
        archive.writestr("model.onnx", relu_chain().SerializeToString())
    refusal = FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/ram']")
    with mock.patch.object(tempfile, "gettempdir", side_effect=refusal):
        cli("convert", "model.zip", "-o", "saved")


CASES = [
    Case("output-report-in-output", lambda: _convert("saved", "--report", "saved/report.json")),
    Case("output-report-is-a-folder", lambda: (Path("r.json").mkdir(), _convert("saved", "--report", "r.json"))),
    Case("output-report-in-no-folder", lambda: _convert("saved", "--report", "nowhere/r.json")),
    Case("overwrite-of-documents", _documents),
    Case("overwrite-of-the-current-folder", lambda: _convert(".", "--overwrite")),
    Case("output-is-a-dangling-link", _dangling_link),
    Case("output-name-too-long", lambda: _convert("n" * 300)),
    Case("output-written-by-another", _claimed_by_another),
    Case("output-data-file-appeared", _taken_data_file),
    Case("zip-without-a-temporary-folder", _no_temporary_folder),
    Case("output-on-a-full-disk", _full_disk_in_tensorflow),
]
