"""Families of constructs that were once converted wrong: each a grid against the framework itself."""
