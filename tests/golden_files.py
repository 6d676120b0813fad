"""Texts that were looked at once and must not change by accident.

After a change that is meant, write them anew with ``IRBENCH_UPDATE_GOLDEN=1`` and read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path

_FOLDER = Path(__file__).parent / "golden"


def check_golden(name: str, text: str) -> None:
    """Compare a text with ``tests/golden/<name>.txt``."""
    path = _FOLDER / f"{name}.txt"
    if os.environ.get("IRBENCH_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"{path} differs"
