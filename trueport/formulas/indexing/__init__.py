"""Indices, shapes, segments, sparse and ragged tensors."""
