"""How users write a backend on one of its devices, ``ort:cuda``, and a function of theirs, ``my_model.py:make``."""

from __future__ import annotations

from typing import NamedTuple, Self

CPU = "cpu"
"""The device of a backend that is named without one."""


def is_gpu(device: str) -> bool:
    """Whether a backend calls a GPU so: ``cuda``, ``gpu`` or ``gpu.1``."""
    return device.partition(".")[0] in ("cuda", "gpu")


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


def function_address(text: str) -> tuple[str, str] | None:
    """Return the module, or its file, and the name of a function; ``None`` for a text that names no function.

    Whether there is such a module is not checked: a file may have a name like this, and a backend and its device too.
    """
    module, _, function = text.rpartition(":")
    return (module, function) if module and function.isidentifier() else None
