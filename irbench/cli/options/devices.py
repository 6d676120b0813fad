"""Options about the devices that rows run on, and the energy that they use."""

from __future__ import annotations

import click

__all__ = ["ENERGY", "REQUIRE_FULL"]

ENERGY = click.option(
    "--energy",
    is_flag=True,
    help="Also measure joules per inference and watts, of each row alone: for 3s in every launch without --sustain.",
)
REQUIRE_FULL = click.option(
    "--require-full",
    is_flag=True,
    help="Refuse a row if any of its nodes runs on another device than the one requested.",
)
