"""Tests of zoo models that are built with distributions which are not always installed."""

from __future__ import annotations

import pytest

from irbench.exporter import missing_distributions

__all__ = ["skipped_without_its_parts"]


def skipped_without_its_parts(model: str) -> tuple[pytest.MarkDecorator, ...]:
    """Return the marks of a test that builds a model: skipped where what it is built with is missing."""
    missing = missing_distributions(model)
    return (pytest.mark.skip(reason=f"{', '.join(missing)} is not installed"),) if missing else ()
