"""Faults that ordinary inputs do not show: small normal numbers, small sizes, common strings.

They are written without knowledge of how `trueport.verify` draws inputs or judges; keep it so.
"""
