"""Commands run one after the other in a process of their own; how each one ended goes to stdout, as JSON."""

from __future__ import annotations

import json
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, save

from trueport.cli import main

EXAMPLE = ("--example", "input=float32[2,3,8,8]")
NETS = """
import torch

def build():
    torch.manual_seed(0)
    layers = torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Flatten(), torch.nn.Linear(144, 2)
    return torch.nn.Sequential(*layers).eval()
"""
OPS = "import tensorflow\n"


def run(*words: object) -> int:
    sys.argv = ["trueport", *map(str, words)]
    try:
        main()
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def write_onnx(path: str, operator: str, shape: list[int], result: list[int]) -> None:
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, dims) for n, dims in (("x", shape), ("y", result))]
    graph = helper.make_graph([helper.make_node(operator, ["x"], ["y"])], "small", ends[:1], ends[1:])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def write_keras(path: str) -> None:
    import keras

    inputs = keras.layers.Input((8, 8, 3))
    layers = keras.layers.MaxPooling2D(4), keras.layers.Flatten(), keras.layers.Dense(2)
    keras.Sequential([inputs, *layers]).save(path)


def write_broken_keras(path: str, whole: str) -> None:
    """Inputs that are smaller than the pooling window: Keras says so in bold."""
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            target.writestr(name, data.replace(b"[null, 8, 8, 3]", b"[null, 2, 2, 3]"))


def write_program(path: str) -> None:
    import nets
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.export.save(torch.export.export(nets.build(), (torch.ones(2, 3, 8, 8),)), path)


def tensorflow_commands() -> list[int]:
    write_onnx("small.onnx", "Relu", [2, 3], [2, 3])
    write_onnx("det.onnx", "Det", [2, 3, 3], [2])
    np.save("x.npy", np.ones((2, 3), np.float32))
    Path("ops.py").write_text(OPS)
    ended = [
        # The user's module is the first to load TensorFlow.
        run("convert", "small.onnx", "-o", "saved", "--ops", "ops.py"),
        run("check", "small.onnx"),
        run("info", "saved"),
        run("verify", "small.onnx", "saved"),
        run("run", "saved", "--input", "x=x.npy"),
        run("convert", "saved", "-o", "back.onnx"),
        run("convert", "small.onnx", "-o", "small.tflite"),
        run("run", "small.tflite", "--input", "x=x.npy"),
    ]
    write_keras("net.keras")
    write_broken_keras("broken.keras", "net.keras")
    return [*ended, run("check", "net.keras"), run("convert", "net.keras", "-o", "net.onnx")]


def torch_commands() -> list[int]:
    Path("nets.py").write_text(NETS)
    sys.path.insert(0, "")
    ended = [
        run("check", "nets:build", *EXAMPLE),
        run("convert", "nets:build", "-o", "torch.onnx", *EXAMPLE),
        run("convert", "nets:build", "-o", "torch_saved", *EXAMPLE),
        run("convert", "nets:build", "-o", "torch.tflite", *EXAMPLE),
        run("verify", "nets:build", "torch.tflite", *EXAMPLE),
    ]
    write_program("net.pt2")
    return [*ended, run("convert", "net.pt2", "-o", "program.onnx")]


if __name__ == "__main__":
    ended = [*tensorflow_commands(), *torch_commands()]
    print("refused from here on", file=sys.stderr, flush=True)
    ended += [run("convert", "broken.keras", "-o", "broken.onnx"), run("convert", "det.onnx", "-o", "det.tflite")]
    print("\n" + json.dumps(ended))
