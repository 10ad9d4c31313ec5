"""``python -m trueport``."""

from trueport.cli import main

if __name__ == "__main__":
    main()
