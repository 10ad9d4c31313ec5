"""One record of facts per operator of ONNX, by family; no graph, no framework, no runtime."""
