"""Other versions of Python, NumPy, onnx and the frameworks; ``python -m tests.versions`` runs the core tests there."""
