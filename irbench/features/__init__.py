"""What irbench can do, one folder a feature: its options, its orchestration, its report, its words and its command.

``PAGE`` of a folder is the page of the documentation that explains the feature; the help of its commands names it.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any


def declared(name: str) -> Iterator[tuple[str, Any]]:
    """Yield the package of each feature that declares something by this name, and what it declares."""
    for folder in pkgutil.iter_modules(__path__):
        package = f"{__name__}.{folder.name}"
        value = getattr(importlib.import_module(package), name, None)
        if value is not None:
            yield package, value
