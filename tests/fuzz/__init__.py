"""Differential fuzzing: random small graphs of PyTorch, TensorFlow and ONNX operators, converted and compared.

Each graph is valid by construction: a step is kept only if the framework itself runs it at every size.
"""
