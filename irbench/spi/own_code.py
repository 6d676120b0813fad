"""What a user's own function is given that makes the function which is timed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class CellContext:
    """What a row is to run, and how: the argument of a function whose first parameter is called ``cell``.

    Such a function is called once in each process of the row, and returns the function that is timed.

    Attributes:
        model: The file of the model; dynamic dimensions have fixed sizes in it where they can.
        batch: Samples per inference.
        threads: Total for the process; ``None`` for ``--threads native``.
        streams: Inferences in flight: the returned function is called by so many threads at a time.
        precision: What was asked for: ``fp32``, ``bf16``, ``fp16``, ``int8`` or ``native``.
        shapes: Of the inputs, by their names in the model's file.
        outputs: Names of the outputs in the model's file, in the order in which they are returned.
    """

    model: Path
    batch: int
    threads: int | None
    streams: int
    precision: str
    shapes: Mapping[str, tuple[int, ...]]
    outputs: tuple[str, ...]
