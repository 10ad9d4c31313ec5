"""What a schema and its history say of an attribute: defaults, choices named in the documentation, element types."""

from __future__ import annotations

import functools
import re
from typing import Any

import onnx_ir as ir

from trueport.ir.schemas import canonical_schema, history
from trueport.mapping.bind import attribute_defaults

__all__ = ["choices", "defaults", "is_flag", "output_types"]

_QUOTED = re.compile(r"[`'\"*]+([A-Za-z][A-Za-z_0-9]*)[,.;]?[`'\"*]+")
_LISTED = re.compile(r"\b[A-Z][A-Z_0-9]+\b")
_ONE_OF = re.compile(r"\bone of ([a-z_0-9]+(?: \([a-z]+\))?(?:, (?:or )?[a-z_0-9]+(?: \([a-z]+\))?)+)", re.IGNORECASE)
_WORD = re.compile(r"(?<![(\w])(?!or\b)[A-Za-z][A-Za-z_0-9]*")
_FLAG = re.compile(r"\b(boolean|bool|whether|if (?:set|true|1|0|nonzero|the)|flag|1 if|0 or 1)\b", re.IGNORECASE)


@functools.cache
def choices(op: str, domain: str, name: str) -> tuple[str, ...]:
    """Return the words that the documentation of an attribute names: for strings, the values that it may have."""
    found: dict[str, None] = {}
    for schema in reversed(history(op, domain)):
        attribute = schema.attributes.get(name)
        if attribute is not None:
            found.update(dict.fromkeys(_QUOTED.findall(attribute.description)))
            default = attribute_defaults(schema)[name]
            if not (isinstance(default, str) and default.islower()):
                found.update(dict.fromkeys(_LISTED.findall(attribute.description)))
            for listed in _ONE_OF.findall(attribute.description):
                found.update(dict.fromkeys(_WORD.findall(listed)))
            found.update(dict.fromkeys(default if isinstance(default, list) else [default]) if default else {})
    if name == "activations":
        known = " ".join(schema.doc or "" for schema in history(op, domain))
        found.update(dict.fromkeys(re.findall(r"\b([A-Z][A-Za-z]+)\((?:x|X)\)", known)))
    return tuple(word for word in found if isinstance(word, str))


@functools.cache
def defaults(op: str, domain: str, name: str) -> tuple[Any, ...]:
    """Return the defaults of an attribute in all versions of the operator, the newest first."""
    found = [attribute_defaults(s)[name] for s in reversed(history(op, domain)) if name in s.attributes]
    return tuple(value for index, value in enumerate(found) if value is not None and value not in found[:index])


@functools.cache
def is_flag(op: str, domain: str, name: str) -> bool:
    """True if an integer attribute says yes or no."""
    schema = canonical_schema(op, domain)
    attribute = schema.attributes.get(name) if schema is not None else None
    if schema is None or attribute is None or "axis" in name or "axes" in name:
        return False
    return attribute_defaults(schema)[name] in (0, 1, None) and bool(_FLAG.search(attribute.description))


@functools.cache
def output_types(op: str, domain: str) -> tuple[ir.DataType, ...]:
    """Return the element types that the first output may have."""
    schema = canonical_schema(op, domain)
    if schema is None or not schema.outputs:
        return ()
    names = [name.removeprefix("tensor(").removesuffix(")") for name in schema.outputs[0].types if "tensor" in name]
    spelled = {"float": "FLOAT", "double": "DOUBLE"}
    listed = [spelled.get(name, name.upper()) for name in sorted(names)]
    return tuple(ir.DataType[name] for name in listed if name in ir.DataType.__members__)
