"""One HTML page that holds a report: its style, its script and its data; nothing is fetched, nothing is built."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from trueport.report.plain import restored
from trueport.verifying.verification import Verification
from trueport.verifying.wording import describe_error, verdict_words

__all__ = ["page"]

_SCRIPTS = ("words", "model", "layout", "view", "hands", "plot", "panel", "tables", "main")
"""In the order in which they build on each other."""
_UNSAFE = str.maketrans({letter: f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"})
"""What could end the element that holds the data, or a line of script."""


def page(data: Mapping[str, Any]) -> str:
    """The page for a report's data in the newest form."""
    names = [str(data[side]).rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1] for side in ("source", "target")]
    parts = {
        "title": html.escape(f"{names[0]} → {names[1]} · Trueport report"),
        "style": _read("style.css"),
        "script": '(() => {\n"use strict";\n' + "\n".join(_read("script", f"{name}.js") for name in _SCRIPTS) + "})();",
        "data": _embedded(data),
    }
    text = _read("page.html")
    for name, content in parts.items():
        before, mark, after = text.partition(f"{{{{{name}}}}}")
        assert mark, f"the page has no place for its {name}"
        text = before + content + after
    return text


def _read(*path: str) -> str:
    return files("trueport.report.html").joinpath(*path).read_text(encoding="utf-8")


def _embedded(data: Mapping[str, Any]) -> str:
    """JSON that no name in a model can break out of."""
    text = json.dumps(_lean(data), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.translate(_UNSAFE)


def _lean(data: Mapping[str, Any]) -> dict[str, Any]:
    """Without what the page does not read, its graphs packed."""
    found = {**data, "findings": [finding for finding in data["findings"] if finding["reasons"]]}
    if data["comparison"]:
        found["comparison"] = _worded(data["comparison"])
    graphs = data["graphs"]
    if graphs:
        found["graphs"] = {**graphs, "source": packed(graphs["source"]), "target": packed(graphs["target"])}
    return found


def _worded(comparison: Mapping[str, Any]) -> dict[str, Any]:
    """Return a comparison with its errors in words, as the terminal has them."""
    found = restored(Verification, comparison)
    words = found.headline.removeprefix(verdict_words(found.verdict)).strip(" :")
    pairs = zip(comparison["outputs"], found.outputs, strict=True)
    outputs = [{**output, "words": describe_error(judged, found.k)} for output, judged in pairs]
    return {**comparison, "words": words, "outputs": outputs, "hidden": found.said_inside}


def packed(graph: Mapping[str, Any]) -> dict[str, Any]:
    """A graph's plain data with ``texts`` and ``rows`` in the place of its nodes; the script undoes it."""
    places: dict[str, int] = {}

    def text(words: str) -> int:
        return places.setdefault(words, len(places))

    def value(found: Mapping[str, Any]) -> list[Any]:
        return [text(found["name"]), text(found["dtype"]), found["shape"]]

    def row(node: Mapping[str, Any]) -> list[Any]:
        return [
            text(node["name"]),
            text(node["op"]),
            text(node["scope"]),
            text(node["fidelity"] or ""),
            [text(name) for name in node["inputs"]],
            [value(found) for found in node["outputs"]],
            [text(word) for pair in node["attributes"].items() for word in pair],
            text(node["place"]),
            text(node["made_by"]),
            [text(reason) for reason in node["reasons"]],
        ]

    rows = [row(node) for node in graph["nodes"]]
    constants = [value(found) for found in graph["constants"]]
    kept = {name: graph[name] for name in ("framework", "inputs", "outputs", "output_names")}
    return {**kept, "rows": rows, "constants": constants, "texts": list(places)}
