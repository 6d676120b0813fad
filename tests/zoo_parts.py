"""Which zoo models tests leave out: large ones, and those whose distributions are not always installed."""

from __future__ import annotations

import pytest

from irbench.exporter.identity import missing_distributions

MOST_MACS = 2_000_000_000
"""Building, exporting and checking a model that computes more takes minutes: a DenseNet, a GPT-2 and a U-Net."""


def skipped_without_its_parts(model: str) -> tuple[pytest.MarkDecorator, ...]:
    """Return the marks of a test that builds a model: skipped where what it is built with is missing."""
    missing = missing_distributions(model)
    return (pytest.mark.skip(reason=f"{', '.join(missing)} is not installed"),) if missing else ()
