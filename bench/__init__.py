"""Speed and memory beside other tools: ``python -m bench``."""
