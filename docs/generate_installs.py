"""What to install, printed from the same tables that commands ask before they begin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trueport.requirements import CAPTURE, INSPECT, RUN, RUN_SOURCE, WRITE, Package

__all__ = ["installs_page"]

_NAMES = {
    "onnx": "ONNX",
    "tensorflow": "TensorFlow (SavedModel, Keras)",
    "pytorch": "PyTorch",
    "tflite": "TFLite",
}
_TARGETS = {"onnx": "ONNX", "tensorflow": "SavedModel", "tflite": "TFLite"}
_ROUTES = (
    ("onnx", "tensorflow"),
    ("onnx", "tflite"),
    ("tensorflow", "onnx"),
    ("pytorch", "onnx"),
    ("pytorch", "tensorflow"),
    ("pytorch", "tflite"),
)
_HEAD = """\
# Installing

Printed from `trueport/requirements.py` by `make docs`.

    pip install trueport                             # check and info of ONNX files, ops, diff, report
    pip install 'trueport[tensorflow,onnxruntime]'   # and both directions between ONNX and TensorFlow
    pip install 'trueport[torch,onnxruntime]'        # and PyTorch to ONNX

Frameworks are extras: `tensorflow`, `onnxruntime`, `torch`, `litert`, `extensions`. A command that lacks one ends
before any work is done, with exit code 2 and one line:

```text
trueport: verifying the ONNX model needs ONNX Runtime, which is not installed: pip install 'trueport[onnxruntime]', or \
convert without verifying: --no-verify (verify=False)
```

## What a conversion needs

| from | to | `convert --no-verify` | `convert` needs as well |
| --- | --- | --- | --- |"""
_COMMANDS = """
`check` needs what reads the source; `verify` and `locate` need what runs both models. `run` needs the same as a target.

| model | `check`, `diff` | `verify`, `locate`: as the source | as the target | `info` |
| --- | --- | --- | --- | --- |"""
_NOTES = """
- An ONNX source is run by ONNX's reference evaluator where ONNX Runtime is not installed; `verify --isolate` and
  `locate --reproduce` need ONNX Runtime. `info` of a SavedModel that Trueport wrote needs nothing.
- An ONNX file is written for the kernels of the installed ONNX Runtime, or of 1.31 where none is installed; then
  `--no-verify` also leaves out the try to load it.
- `--extensions` needs onnxruntime-extensions.

## Distributions of other names

Packages are looked up by the module that is imported. `tensorflow-cpu` (or any other build) serves as TensorFlow,
`onnxruntime-gpu` as ONNX Runtime, and `ai-edge-litert` runs TFLite files where TensorFlow is not installed:

    pip install trueport tensorflow-cpu onnxruntime-gpu
"""


def installs_page() -> str:
    """The page, with a row for each route and for each form."""
    return "\n".join([_HEAD, *_route_rows(), _COMMANDS, *_form_rows(), _NOTES])


def _route_rows() -> Iterator[str]:
    for source, target in _ROUTES:
        needed = dict.fromkeys([*CAPTURE[source], *WRITE[target]])
        comparing = [
            p for p in (*RUN_SOURCE[source], *RUN[target]) if not any(set(q.modules) <= set(p.modules) for q in needed)
        ]
        yield f"| {_NAMES[source]} | {_TARGETS[target]} | {_listed(needed)} | {_listed(comparing)} |"


def _form_rows() -> Iterator[str]:
    for form, name in _NAMES.items():
        columns = (table.get(form) for table in (CAPTURE, RUN_SOURCE, RUN, INSPECT))
        yield f"| {name} | {' | '.join('not read' if found is None else _listed(found) for found in columns)} |"


def _is_brought(package: Package, needed: Iterable[Package]) -> bool:
    return any(set(other.modules) <= set(package.modules) for other in needed)


def _listed(packages: Iterable[Package]) -> str:
    return ", ".join(package.name for package in packages) or "nothing"
