"""A backend on one of its devices, written ``ort`` or ``ort:cuda``."""

from __future__ import annotations

from typing import NamedTuple, Self

CPU = "cpu"
"""The device of a backend that is named without one."""


class BackendAddress(NamedTuple):
    """A backend and one of its devices; it unpacks to both."""

    name: str
    device: str = CPU

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the address of ``name`` or ``name:device``; whether there is such a backend is not checked."""
        name, colon, device = text.strip().partition(":")
        return cls(name, device if colon else CPU)

    def __str__(self) -> str:
        return self.name if self.device == CPU else f"{self.name}:{self.device}"
