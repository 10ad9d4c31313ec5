"""A second fault injector, written from ONNX's operator schemas alone.

It shares nothing with the rules that explain differences: what can be wrong with a node is read from its schema
(attributes with types and defaults, formal inputs, type constraints, other operators of the same signature).
"""
