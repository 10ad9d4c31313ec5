"""What a model file would run or touch, found before a framework reads it; see docs/consent.md."""
