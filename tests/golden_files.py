"""Texts that were looked at once and must not change by accident.

After a change that is meant, write them again with ``IRBENCH_UPDATE_GOLDEN=1`` and read the difference.
"""

from __future__ import annotations

import os
from difflib import unified_diff
from pathlib import Path

_FOLDER = Path(__file__).parent / "golden"


def check_golden(name: str, text: str) -> None:
    """Compare a text with ``tests/golden/<name>.txt``."""
    path = _FOLDER / f"{name}.txt"
    if os.environ.get("IRBENCH_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    golden = path.read_text(encoding="utf-8")
    if text != golden:
        test = os.environ.get("PYTEST_CURRENT_TEST", "").partition("::")[0]
        difference = "\n".join(unified_diff(golden.splitlines(), text.splitlines(), lineterm=""))
        raise AssertionError(
            f"{path} differs:\n{difference}\nIf that is meant, write it again and read the difference:\n"
            f"    IRBENCH_UPDATE_GOLDEN=1 .venv/bin/python -m pytest {test}"
        )
