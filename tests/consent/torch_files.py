"""Hostile PyTorch files: pickles in every member of an archive, and JSON that PyTorch evaluates."""

from __future__ import annotations

import functools
import io
import json
import pickle
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from tests.consent.case import Command, Hostile, Payload, of_model, touch

__all__ = ["FILES"]

Change = Callable[[dict[str, bytes], Path], object]
MODEL, WEIGHTS = "models/model.json", "data/weights/model_weights_config.json"
CONSTANTS, SAMPLE = "data/constants/model_constants_config.json", "data/sample_inputs/model.pt"


@functools.cache
def _members() -> Mapping[str, bytes]:
    """Return the members of an honest archive, without their common prefix."""
    module, written = torch.nn.Linear(2, 2), io.BytesIO()
    rows = torch.export.Dim("rows", min=2, max=8)
    program = torch.export.export(module, (torch.ones(3, 2),), dynamic_shapes={"input": {0: rows}})
    torch.export.save(program, written)
    with zipfile.ZipFile(written) as archive:
        return {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}


def _packed(value: Any) -> bytes:
    written = io.BytesIO()
    torch.save(value, written)
    return written.getvalue()


def _write(file: Path, members: Mapping[str, bytes], prefix: str = "archive/") -> None:
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(prefix + name, content)


def _exported(change: Change, suffix: str = ".pt2") -> Callable[[Path, Path], list[Command]]:
    def build(folder: Path, canary: Path) -> list[Command]:
        members, file = dict(_members()), folder / f"model{suffix}"
        change(members, canary)
        _write(file, members)
        return of_model(file, info=False)

    return build


def _json(member: str) -> Callable[[Callable[[Any, Path], object]], Change]:
    """Return a change of a member's JSON."""

    def changing(edit: Callable[[Any, Path], object]) -> Change:
        def change(members: dict[str, bytes], canary: Path) -> None:
            content = json.loads(members[member])
            edit(content, canary)
            members[member] = json.dumps(content).encode()

        return change

    return changing


def _opaque(members: dict[str, bytes], canary: Path, name: str = "opaque_obj_0") -> None:
    payload = {"path_name": name, "is_param": False, "use_pickle": True, "tensor_meta": None}
    members[CONSTANTS] = json.dumps({"config": {"c": payload}}).encode()
    pickled = pickle.dumps(Payload(canary)) if name.startswith("opaque") else _packed(Payload(canary))
    members[f"data/constants/{name}"] = pickled


def _pickled_weight(members: dict[str, bytes], canary: Path) -> None:
    config = json.loads(members[WEIGHTS])
    config["config"]["weight"]["use_pickle"] = True
    members[WEIGHTS] = json.dumps(config).encode()
    members["data/weights/weight_0"] = _packed(Payload(canary))


def _other_program(members: dict[str, bytes], canary: Path) -> None:
    for name in (MODEL, WEIGHTS, CONSTANTS):
        members[name.replace("model.json", "other.json").replace("model_", "other_")] = members[name]
    members["data/sample_inputs/other.pt"] = _packed(Payload(canary))


def _node(target: str, argument: Callable[[Path], str]) -> Callable[[Any, Path], None]:
    """Return an edit that puts a node before all others, called with one string."""

    def edit(model: Any, canary: Path) -> None:
        given = [{"name": "command", "arg": {"as_string": argument(canary)}, "kind": 1}]
        model["graph_module"]["graph"]["nodes"].insert(
            0, {"target": target, "inputs": given, "outputs": [{"as_none": True}], "metadata": {}, "name": "evil"}
        )

    return edit


def _size(model: Any, canary: Path) -> None:
    sizes = model["graph_module"]["graph"]["tensor_values"]["input"]["sizes"]
    sizes[0]["as_expr"]["expr_str"] = f"__import__('os').system({touch(canary)!r})"


def _attribute_size(model: Any, canary: Path) -> None:
    code = f"Symbol.__init__.__globals__['__builtins__']['__import__']('os').system({touch(canary)!r})"
    model["graph_module"]["graph"]["tensor_values"]["linear"]["sizes"][0]["as_expr"]["expr_str"] = code


def _guard(model: Any, canary: Path) -> None:
    model["guards_code"] = [f"__import__('os').system({touch(canary)!r}) == 0"]


def _quoted_guard(model: Any, canary: Path) -> None:
    """Break out of the message that PyTorch makes of a guard."""
    model["guards_code"] = [f'L[\'input\'].size()[0] == 3 or \'"), __import__("os").system("{touch(canary)}") #\'']


def _factory(model: Any, canary: Path) -> None:
    context = {"default_factory_module": "os", "default_factory_name": "abort", "dict_context": "[]"}
    spec = {"type": "collections.defaultdict", "context": json.dumps(context), "children_spec": []}
    model["graph_module"]["module_call_graph"][0]["signature"]["out_spec"] = json.dumps([1, spec])


def _older(member: str) -> Callable[[Path, Path], list[Command]]:
    """Return the form that PyTorch wrote up to 2.7, with a pickle in one member."""

    def build(folder: Path, canary: Path) -> list[Command]:
        file = folder / "model.pt2"
        names = ["serialized_state_dict.pt", "serialized_constants.pt", "serialized_example_inputs.pt"]
        members = {name: _packed(Payload(canary) if name == member else {}) for name in names}
        _write(file, {"version": b"8.20", "serialized_exported_program.json": _members()[MODEL], **members}, "")
        return of_model(file, info=False)

    return build


def _twice(order: slice) -> Callable[[Path, Path], list[Command]]:
    """Return an archive with a member that is there twice: which one is read depends on the reader."""

    def build(folder: Path, canary: Path) -> list[Command]:
        file, honest = folder / "model.pt2", _members()[SAMPLE]
        _write(file, {name: content for name, content in _members().items() if name != SAMPLE})
        with zipfile.ZipFile(file, "a") as archive:
            for content in [honest, _packed(Payload(canary))][order]:
                archive.writestr(f"archive/{SAMPLE}", content)
        return of_model(file, info=False)

    return build


def _other_case(members: dict[str, bytes], canary: Path) -> None:
    members["data/SAMPLE_INPUTS/model.pt"] = _packed(Payload(canary))


def _opaque_by_path(path: str, member: str) -> Change:
    """Return a constant that PyTorch unpickles because of its path; protocol 0 has no magic bytes."""

    def change(members: dict[str, bytes], canary: Path) -> None:
        meta = next(iter(json.loads(members[WEIGHTS])["config"].values()))["tensor_meta"]
        payload = {"path_name": path, "is_param": False, "use_pickle": False, "tensor_meta": meta}
        members[CONSTANTS] = json.dumps({"config": {"c": payload}}).encode()
        pickled = pickle.dumps(Payload(canary), protocol=0)
        members[f"data/constants/{member}"] = pickled + bytes(-len(pickled) % 4)

    return change


def _program_by_another_suffix(members: dict[str, bytes], canary: Path) -> None:
    """PyTorch takes everything in models/ for a program."""
    copies = {name.replace("/model", "/other", 1): content for name, content in members.items() if "/model" in name}
    hostile: dict[str, bytes] = {MODEL: members[MODEL]}
    _json(MODEL)(_size)(hostile, canary)
    copies.pop("models/other.json")
    members.update(copies | {"models/other-json": hostile[MODEL]})


def _library(members: dict[str, bytes], canary: Path) -> None:
    members["data/aotinductor/model/model.wrapper.so"] = b"\x7fELF" + bytes(64)


def _set(name: str) -> Change:
    return lambda members, canary: members.update({name: _packed(Payload(canary))})


def _saved(suffix: str, **options: Any) -> Callable[[Path, Path], list[Command]]:
    """Return a file of torch.save."""

    def build(folder: Path, canary: Path) -> list[Command]:
        file = folder / f"model{suffix}"
        torch.save({"state": Payload(canary)}, file, **options)
        return of_model(file, info=False, words=("--example", "x=float32[2,2]"))

    return build


def _raw(folder: Path, canary: Path) -> list[Command]:
    file = folder / "model.pt"
    file.write_bytes(pickle.dumps(Payload(canary)))
    return of_model(file, info=False, words=("--example", "x=float32[2,2]"))


FILES = [
    Hostile("pt2-opaque-object", _exported(_opaque), "data/constants/opaque_obj_0"),
    Hostile("pt2-custom-object", _exported(functools.partial(_opaque, name="custom_obj_0")), "custom_obj_0"),
    Hostile("pt2-pickled-constant", _exported(functools.partial(_opaque, name="tensor_0")), "tensor_0"),
    Hostile("pt2-sample-inputs", _exported(_set(SAMPLE)), SAMPLE),
    Hostile("pt2-pickled-weight", _exported(_pickled_weight), "data/weights/weight_0"),
    Hostile("pt2-legacy-weights", _exported(_set("data/weights/model.pt")), "data/weights/model.pt"),
    Hostile("pt2-legacy-constants", _exported(_set("data/constants/model.pt")), "data/constants/model.pt"),
    Hostile("pt2-second-program", _exported(_other_program), "data/sample_inputs/other.pt"),
    Hostile("pt2-extra-pickle", _exported(_set("extra/notes.pkl")), "extra/notes.pkl"),
    Hostile("pt2-library", _exported(_library), "model.wrapper.so"),
    Hostile("pt2-as-pt", _exported(_set(SAMPLE), ".pt"), SAMPLE),
    Hostile("pt2-as-pth", _exported(_opaque, ".pth"), "opaque_obj_0"),
    Hostile("pt2-member-twice", _twice(slice(None)), SAMPLE, consent=False),
    Hostile("pt2-member-twice-reversed", _twice(slice(None, None, -1)), SAMPLE, consent=False),
    Hostile("pt2-member-in-other-case", _exported(_other_case), "SAMPLE_INPUTS", consent=False),
    Hostile("pt2-call-of-os-system", _exported(_json(MODEL)(_node("torch.os.system", touch))), "torch.os.system"),
    Hostile(
        "pt2-call-through-serialization",
        _exported(_json(MODEL)(_node("torch.serialization.os.system", touch))),
        "torch.serialization.os.system",
    ),
    Hostile(
        "pt2-call-of-attrgetter",
        _exported(_json(MODEL)(_node("_operator.attrgetter", lambda _: "__class__"))),
        "_operator.attrgetter",
    ),
    Hostile("pt2-from-file", _exported(_json(MODEL)(_node("torch.ops.aten.from_file.default", str))), "from_file"),
    Hostile("pt2-code-as-size", _exported(_json(MODEL)(_size)), "expr_str"),
    Hostile("pt2-code-behind-a-symbol", _exported(_json(MODEL)(_attribute_size)), "expr_str"),
    Hostile("pt2-code-as-guard", _exported(_json(MODEL)(_guard)), "guards_code"),
    Hostile("pt2-code-in-a-guards-message", _exported(_json(MODEL)(_quoted_guard)), "guards_code"),
    Hostile("pt2-object-in-a-folder", _exported(_opaque_by_path("opaque_obj_0/x", "opaque_obj_0/x")), "opaque_obj_0/x"),
    Hostile("pt2-object-in-capitals", _exported(_opaque_by_path("opaque_obj_0", "OPAQUE_obj_0")), "OPAQUE_obj_0"),
    Hostile("pt2-program-by-another-suffix", _exported(_program_by_another_suffix), "expr_str"),
    Hostile("pt2-call-of-load-library", _exported(_json(MODEL)(_node("torch.ops.load_library.__call__", str))), "call"),
    Hostile("pt2-factory-of-a-dict", _exported(_json(MODEL)(_factory)), "default_factory_module"),
    Hostile("pt2-older-weights", _older("serialized_state_dict.pt"), "serialized_state_dict.pt"),
    Hostile("pt2-older-constants", _older("serialized_constants.pt"), "serialized_constants.pt"),
    Hostile("pt2-older-inputs", _older("serialized_example_inputs.pt"), "serialized_example_inputs.pt"),
    Hostile("pt-pickle", _saved(".pt"), "pickled Python object"),
    Hostile("pth-pickle", _saved(".pth"), "pickled Python object"),
    Hostile("pt-pickle-legacy", _saved(".pt", _use_new_zipfile_serialization=False), "torch.save", consent=False),
    Hostile("pt-pickle-raw", _raw, "torch.save", consent=False),
]
