"""Opset downgrades by operator family; the driver is in :mod:`trueport.passes.lower.adapt`."""
