"""Names of what keeps a program away from another; workers import them, and not what they do."""

from __future__ import annotations

from typing import Literal, get_args

Control = Literal["affinity", "nice", "cpuset", "weight", "memory-node", "cache", "memory-bandwidth"]
CONTROLS: tuple[Control, ...] = get_args(Control)
"""What may hold a program back."""
