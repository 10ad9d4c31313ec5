"""Writing an output: it appears whole under its name, or not at all, whenever the process ends."""
