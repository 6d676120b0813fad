"""Tables that tests of texts display are whole."""

from __future__ import annotations

from whole_tables import displayed_tables_are_whole

__all__ = ["displayed_tables_are_whole"]
