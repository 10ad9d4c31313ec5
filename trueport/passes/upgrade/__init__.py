"""Opset upgrades by operator family; the driver is in :mod:`trueport.passes.upgrade.adapt`."""
