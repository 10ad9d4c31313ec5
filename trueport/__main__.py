"""``python -m trueport``."""

import os
import sys

if sys.path and sys.path[0] == os.getcwd() and not getattr(sys.flags, "safe_path", False):
    del sys.path[0]  # `python -m` put it first: what lies in the current folder must not hide installed modules

from trueport.cli import main

if __name__ == "__main__":
    main()
