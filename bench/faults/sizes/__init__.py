"""Faults that only some sizes of dynamic dims show, generated from families with drawn numbers."""
