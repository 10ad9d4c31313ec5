"""Metadata: producer, doc strings, properties, node names and symbolic dims survive in the artifact."""

from __future__ import annotations

import tempfile
from pathlib import Path

import onnx
from networks import digit_classifier

import trueport
from trueport.ir.artifact import ArtifactMap

model = digit_classifier()
model.producer_name, model.producer_version = "acme-trainer", "3.1"
model.doc_string = "reads digits"
onnx.helper.set_model_props(model, {"labels": "0 1 2 3 4 5 6 7 8 9", "licence": "CC-BY"})
model.graph.node[0].doc_string = "the first layer"

folder = Path(tempfile.mkdtemp()) / "saved_model"
trueport.convert_file(model, folder)
kept = ArtifactMap.read(folder)
assert kept is not None
assert kept.source["producer"] == "acme-trainer"
assert kept.source["producer_version"] == "3.1"
assert kept.source["doc"] == "reads digits"
assert kept.source["metadata"] == {"labels": "0 1 2 3 4 5 6 7 8 9", "licence": "CC-BY"}
assert [node["name"] for node in kept.source["nodes"]] == [node.name for node in model.graph.node]
assert kept.source["nodes"][0]["doc"] == "the first layer"
assert kept.inputs[0].shape == ("batch", 1, 28, 28)
assert {weight.initializer for weight in kept.weights} == {tensor.name for tensor in model.graph.initializer}
print("kept:", {key: kept.source[key] for key in ("producer", "doc", "metadata")})
