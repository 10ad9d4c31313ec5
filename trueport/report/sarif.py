"""Findings as SARIF 2.1.0, the form in which code hosts and editors take what a check has found."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from trueport.checking.remarks import Remark
from trueport.checking.rules import all_rules
from trueport.report.data import Report
from trueport.report.groups import remarks_of

__all__ = ["render_sarif"]

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LINE = re.compile(r"^(?P<file>.*\.\w+):(?P<line>[1-9]\d*)$")


def render_sarif(report: Report, version: str) -> str:
    """One run with a result per place; ``version`` is this tool's."""
    remarks = remarks_of(report)
    rules = list(dict.fromkeys(remark.rule for remark in remarks))
    run = {
        "tool": {
            "driver": {"name": "trueport", "semanticVersion": version, "rules": [_rule(id, remarks) for id in rules]}
        },
        "columnKind": "unicodeCodePoints",
        "results": [_result(remark, rules.index(remark.rule), report.source) for remark in remarks],
        "properties": {"target": report.target, "fidelity": report.fidelity.name.lower(), "nodes": report.counts()},
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1)


def _rule(id: str, remarks: Iterable[Remark]) -> dict[str, Any]:
    declared = next((rule for rule in all_rules() if rule.id == id), None)
    first = next(remark for remark in remarks if remark.rule == id)
    text = declared.because if declared else first.because
    found: dict[str, Any] = {
        "id": id,
        "shortDescription": {"text": text},
        "defaultConfiguration": {"level": first.severity.word},
    }
    return {**found, "help": {"text": first.remedy}} if first.remedy else found


def _result(remark: Remark, index: int, model: str) -> dict[str, Any]:
    remedy = f" → {remark.remedy}" if remark.remedy else ""
    return {
        "ruleId": remark.rule,
        "ruleIndex": index,
        "level": remark.severity.word,
        "message": {"text": f"{remark.where}: {remark.because}{remedy}"},
        "locations": [_location(remark, model)],
    }


def _location(remark: Remark, model: str) -> dict[str, Any]:
    """The line of the user's program where it is known, else the model's file; and the node in it."""
    line = _LINE.match(remark.source)
    physical: dict[str, Any] = {"artifactLocation": {"uri": _uri(line["file"] if line else model)}}
    if line:
        physical["region"] = {"startLine": int(line["line"])}
    logical = {"name": remark.node or remark.where, "fullyQualifiedName": remark.where, "kind": "element"}
    return {"physicalLocation": physical, "logicalLocations": [logical]}


def _uri(path: str) -> str:
    return Path(path).as_uri() if Path(path).is_absolute() else quote(Path(path).as_posix())
