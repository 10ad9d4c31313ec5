"""Faithful pairs: source and target differ by rounding only, so that every alarm is a false one.

They are written without knowledge of how `trueport.verify` draws inputs or judges; keep it so.
"""
