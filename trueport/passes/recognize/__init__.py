"""Chains of small operators that are one operator of ONNX, found and replaced."""
