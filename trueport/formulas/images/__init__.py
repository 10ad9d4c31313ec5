"""Pictures: windows, borders, sampling, colours."""
