"""Errors about ONNX files, by the command line."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import onnx
import onnx.helper as oh
import onnx.parser

from tests import test_bad_input as bad
from tests.errors.case import Case, cli
from tests.models import model_of, relu_chain

__all__ = ["CASES"]


def _check(build: Callable[[Path], Path]) -> Callable[[], None]:
    return lambda: cli("check", build(Path.cwd()))


def parsed(text: str, opset: int = 21, head: str = "", ml: int = 4) -> Callable[[Path], Path]:
    """A model in ONNX's text form, its nodes named."""

    def build(folder: Path) -> Path:
        imports = f'["": {opset}, "com.acme": 1, "ai.onnx.ml": {ml}{head}]'
        model = onnx.parser.parse_model(f"<ir_version: 10, opset_import: {imports}> g {text}")
        for index, node in enumerate(model.graph.node):
            node.name = f"n{index}"
        return bad.write(folder, model)

    return build


def _no_graph(folder: Path) -> Path:
    (folder / "model.onnx").write_bytes(onnx.ModelProto(ir_version=10).SerializeToString())
    return folder / "model.onnx"


def _no_opset(folder: Path) -> Path:
    model = relu_chain()
    del model.opset_import[:]
    return bad.write(folder, model)


def _zipped(folder: Path, *names: str) -> Path:
    with zipfile.ZipFile(folder / "model.zip", "w") as archive:
        for name in names:
            archive.writestr(name, relu_chain().SerializeToString())
    return folder / "model.zip"


def _two_models(folder: Path) -> Path:
    return _zipped(folder, "a.onnx", "b.onnx")


def _broken_zip(folder: Path) -> Path:
    path = _zipped(folder, "a.onnx")
    data = path.read_bytes()
    # The directory at the end is whole, what it points to is not.
    path.write_bytes(b"\0" * 40 + data[40:])
    return path


def _folder(folder: Path) -> Path:
    (folder / "model.onnx").mkdir()
    return folder / "model.onnx"


def _old_reshape(folder: Path) -> Path:
    node = oh.make_node("Reshape", ["x"], ["y"], "reshape")
    return bad.write(folder, model_of([node], [bad.X], [bad.Y], opset=1, ir_version=3))


_BEND = "(float[3] x) => (float[3] y) { t = com.acme.Bend(x) y = Relu(t) }"
_RANKLESS = "(float[N] x, int64[R] s) => (float[M] y) { t = Reshape(x, s) %s }"
_RESIZE = "sc = Constant<value_floats=[2.0]>() y = Resize(t, , sc)"
_POOL = "y = GlobalAveragePool(t)"
_STRINGS = (
    '(string[2,2] x) => (string[4,4] y) { s = Constant<value_floats=[2.0,2.0]>() y = Resize<mode="linear">(x, "", s) }'
)
_RNN = (
    "(float[2,1,3] x, float[1,4,3] w, float[1,4,4] r) => (float[2,1,1,4] y) "
    "{ y = RNN<hidden_size=4, activations=[%s]>(x, w, r) }"
)
_LSTM = (
    "(float[2,1,3] x, float[1,16,3] w, float[1,16,4] r) => (float[2,1,1,4] y) "
    '{ y = LSTM<hidden_size=4, activations=["Tanh"]>(x, w, r) }'
)

CASES = [
    *(Case(f"file-{build.__name__.strip('_').replace('_', '-')}", _check(build)) for build in bad.CASES),
    *(
        Case(f"file-{build.__name__.strip('_').replace('_', '-')}", _check(build))
        for build in (_no_graph, _no_opset, _two_models, _broken_zip, _folder, _old_reshape)
    ),
    Case("unsupported", lambda: cli("convert", parsed(_BEND)(Path()), "-o", "saved")),
    Case("no-rank-for-resize", lambda: cli("convert", parsed(_RANKLESS % _RESIZE)(Path()), "-o", "saved")),
    Case("no-rank-for-pooling", lambda: cli("convert", parsed(_RANKLESS % _POOL)(Path()), "-o", "saved")),
    Case("strings-are-not-mixed", lambda: cli("convert", parsed(_STRINGS)(Path()), "-o", "saved")),
    Case("unknown-activation", lambda: cli("convert", parsed(_RNN % '"Bent"')(Path()), "-o", "saved")),
    Case("too-few-activations", lambda: cli("convert", parsed(_LSTM)(Path()), "-o", "saved")),
    Case("no-such-file-to-run", lambda: cli("run", "nothing.onnx")),
]
