"""``python -m irbench``."""

from irbench.cli import main

if __name__ == "__main__":
    main()
