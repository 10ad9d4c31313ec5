"""The published schemas of what Trueport writes as JSON, and how older reports become newer ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

from trueport.errors import UsageError

__all__ = ["REPORT", "load_schema", "upgraded"]

REPORT = "trueport-report/2"
"""What the reports of this version call their form; the number grows when a reader of the old form would go wrong."""


def load_schema(name: str) -> dict[str, Any]:
    """A JSON schema by its file's name: ``report-2``, ``report-1``, ``verification-1``, ``located-1``."""
    text = (files("trueport.report") / "schemas" / f"{name}.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def upgraded(data: Any) -> dict[str, Any]:
    """A report's data in the newest form; refuses what is no report, or a newer one."""
    form = data.get("schema", "") if isinstance(data, Mapping) else ""
    if not str(form).startswith("trueport-report/"):
        raise UsageError("is no report of Trueport", remedy="pass what `trueport convert … --report result.json` wrote")
    found = dict(data)
    while found["schema"] != REPORT:
        if found["schema"] not in _UPGRADES:
            raise UsageError(
                f"the report has the form {found['schema']!r}, this Trueport reads up to {REPORT!r}",
                remedy="update trueport",
            )
        found = _UPGRADES[found["schema"]](found)
    return found


def _from_1(data: Mapping[str, Any]) -> dict[str, Any]:
    """Form 1 listed only findings with a reason, and counted the others; it had no graphs and no figures."""
    comparison = data.get("comparison")
    findings = [
        {**finding, "reasons": [{"effect": finding["fidelity"], **reason} for reason in finding["reasons"]]}
        for finding in data["findings"]
    ]
    return {
        **dict.fromkeys(("went_in", "came_out", "setting", "graphs", "profile")),
        "remarks": [],
        **data,
        "schema": "trueport-report/2",
        "verdict": comparison["verdict"] if comparison else None,
        "findings": findings,
    }


_UPGRADES: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {"trueport-report/1": _from_1}
