"""What nodes are called, also those without a name."""

from __future__ import annotations

from collections.abc import Iterable


def node_label(name: str | bytes, op_type: str | bytes, outputs: Iterable[str | bytes]) -> str:
    """Return a node's name; operator and first output where it has none, as ``Relu of positive``."""
    output = next(iter(outputs), "") or "nothing"
    return decoded(name) or f"{decoded(op_type)} of {decoded(output)}"


def decoded(name: str | bytes) -> str:
    """Return a name; one that is no valid text comes as bytes."""
    return name.decode(errors="replace") if isinstance(name, bytes) else name
