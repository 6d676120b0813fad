"""``irbench`` and ``python -m irbench``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, and end without a traceback where it is interrupted before it can say so itself."""
    try:
        from irbench.cli import main as run
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted\n")
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
