"""The sets of versions that `make test-versions` builds, and the sample of the tests that it runs in each."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EXCHANGED", "KNOWN", "PARTS", "SEED", "SETS", "TOOLS", "Known", "Part", "Set"]


@dataclass(frozen=True)
class Set:
    """Versions that are installed together."""

    name: str
    python: str
    requires: tuple[str, ...]
    """for pip, beside Trueport with its extras and the tools of the tests"""
    extras: str = "tensorflow,onnxruntime,torch"
    is_refused: bool = False
    """True for a set that pip cannot resolve; it is listed with the conflict"""


@dataclass(frozen=True)
class Part:
    """A sample of the tests."""

    name: str
    tests: int
    """how many are drawn, spread over the files"""
    paths: tuple[str, ...]

    def has(self, test: str) -> bool:
        """True if a test, by its name, belongs to the part."""
        file = test.partition("::")[0]
        return any(file == path or file.startswith(f"{path}/") for path in self.paths)


TOOLS = ("pytest", "hypothesis", "jsonschema", "tf_keras")

_FEW = "tensorflow,onnxruntime"

SETS = (
    Set("oldest", "3.10", ("tensorflow==2.18.*", "torch==2.8.*", "onnxruntime==1.20.*", "numpy==1.26.*")),
    Set("TensorFlow 2.19", "3.11", ("tensorflow==2.19.*", "torch==2.13.*", "onnxruntime==1.22.*")),
    Set("middle", "3.12", ("tensorflow==2.20.*", "torch==2.11.*", "onnxruntime==1.24.*", "numpy==2.2.*")),
    Set("newest", "3.13", ("tensorflow==2.21.*", "torch==2.15.*", "onnxruntime>=1.31")),
    Set("TensorFlow 2.18.0", "3.11", ("tensorflow==2.18.0",), _FEW, is_refused=True),
    Set("TensorFlow 2.19 with onnx 1.23", "3.11", ("tensorflow==2.19.*", "onnx==1.23.*"), _FEW, is_refused=True),
    Set("TensorFlow 2.19 on Python 3.13", "3.13", ("tensorflow==2.19.*",), _FEW, is_refused=True),
)

SEED = 13
"""Of the sample; the same tests are drawn for every set."""

_TORCH = ("gradients", "locate", "no_alarm", "pt2e", "rounding", "sources", "traps")

PARTS = (
    Part("ONNX's suite", 70, ("tests/conformance/test_suite.py",)),
    Part("operators", 80, ("tests/grid", "tests/mapping")),
    Part("TensorFlow sources", 80, ("tests/frontends",)),
    Part("PyTorch sources", 30, ("tests/torch/operators", *(f"tests/torch/test_{name}.py" for name in _TORCH))),
    Part("runtimes, verify", 50, ("tests/runtimes", "tests/verifying")),
    Part("command line", 20, ("tests/test_cli.py", "tests/test_pipeline.py", "tests/versions")),
)


@dataclass(frozen=True)
class Known:
    """Tests that cannot pass with an older version. They must fail there: one that passes counts as failed."""

    tests: str
    """a pattern in their names"""
    package: str
    before: tuple[int, ...]
    """the oldest version with which they were seen to pass"""
    because: str
    since: tuple[int, ...] = ()
    """the oldest version with which they fail; empty for all before ``before``"""


KNOWN = (
    Known(r"test_cast\.py::test_every_pair_of_types", "onnx", (1, 23), "onnx lacks FLOAT6E2M3 and FLOAT6E3M2"),
    Known(
        r"test_recurrent\.py::test_plain\[\d-(1|0-LSTM)",
        "onnx",
        (1, 23),
        "onnx's reference evaluator lacks layout 1 and the cell state",
    ),
    Known(r"locate_known\.py.*onnx2tf-remainder", "onnx", (1, 23), "its reference ignores fmod = 0 of floats"),
    Known(r"extremes_of_nothing", "onnxruntime", (1, 22), "ONNX Runtime refuses the extremes of nothing"),
    Known(r"of_no_truths", "onnxruntime", (1, 31), "ONNX Runtime lacks the extremes of nothing"),
    Known(r"lp_normalization", "onnxruntime", (1, 31), "ONNX Runtime has no kernel since opset 22", since=(1, 22)),
    Known(r"running_integers_overflow|bits_are_read", "onnxruntime", (1, 31), "ONNX Runtime does not read opset 26"),
    Known(r"test_ort_arrays.*int4", "onnxruntime", (1, 24), "ONNX Runtime casts no 4-bit integers"),
    Known(r"every_public_name_has_a_case", "torch", (3,), "the cases are of PyTorch 2.13's names", since=(2, 15)),
    Known(r"test_traps.*loop_with_branch", "torch", (2, 11), "the exporter fails before the branch is refused"),
    Known(r"decode_webp", "tensorflow", (2, 19), "TensorFlow decodes no WebP"),
)

EXCHANGED = (
    *("keras-cnn", "keras-decoder", "keras-recurrent", "keras-attention", "keras-rms-norm", "keras-float16"),
    *("keras-words", "tf-quantized", "tf-loop", "tf-branches", "tf-texts", "tf-pieces", "tf-spectrum", "tf-solved"),
    *("tf-bytes", "torch-unet", "torch-transformer", "torch-calibrated", "torch-cond", "torch-experts"),
)
"""Models of tests/versions/runtime_models.py whose SavedModels one set writes and another loads."""
