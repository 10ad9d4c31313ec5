"""Formulas written in ONNX's operators, shared by the frontends: they know no framework."""
