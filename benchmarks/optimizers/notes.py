"""Why irbench's graph is larger or slower than another optimiser's, where that is known."""

from __future__ import annotations

from collections.abc import Mapping

WHY_BEHIND: Mapping[str, str] = {}
"""By the name of the model; a part of a sentence, in Markdown."""
