"""What goes into the inputs of a model: data, constants, and generated values for everything else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, get_args

LOOP_STEPS = 8
"""Steps of a decode loop that are compared with the reference's own, at least."""

Distribution: TypeAlias = Literal["declared", "uniform", "symmetric", "normal", "bytes"]
"""What generated floats are drawn from: uniform in the range that the model declares of an input, in [0, 1), [-1, 1) or
[0, 255), or normal with mean 0 and deviation 1, as of standardised images. Integers and masks stay as declared."""

RANGES: Mapping[Distribution, tuple[float, float]] = {
    "uniform": (0.0, 1.0),
    "symmetric": (-1.0, 1.0),
    "bytes": (0.0, 255.0),
}
"""Between what generated floats lie, where neither the model nor the normal distribution says it."""

DISTRIBUTIONS: tuple[Distribution, ...] = tuple(name for name in get_args(Distribution) if name != "declared")
"""Those that can be asked for."""

Number: TypeAlias = int | float | bool | str
"""A constant of one element: a number, or a text; an input of numbers takes the number that a text spells."""
_TRUTH = {"true": True, "false": False}


def number_of_text(text: str) -> Number:
    """Return the number or the truth that a text spells, and the text itself where it spells none."""
    if text.lower() in _TRUTH:
        return _TRUTH[text.lower()]
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


@dataclass(frozen=True)
class Feeding:
    """The inputs of a group. All cells of the group, and the reference, receive the same ones.

    An input gets what a sample holds for it, otherwise its constant, otherwise generated values.

    Attributes:
        seed: Seed of the generated values.
        values: Constants by logical input name: one element fills the input, several are broadcast to its shape.
        samples: NumPy archives (``.npz``), one for each sample. They hold arrays by logical input name, with the
            dtypes of the inputs and the shapes that the group's sizes bind.
        feedback: Outputs by the logical names of the inputs that they become in the next call.
        source: Where the samples come from, as the user named it; empty without samples, or for arrays in memory.
        sha256: Digests of the samples' values, in hexadecimal, by logical input name.
        rows: How many entries along the batch axis the data have, of which calls are made; 0 where each of ``samples``
            is one.
        rows_per_call: How many of them make a call; 0 where ``rows`` is 0.
        drawn: What generated floats are drawn from.
        labels: The number of the class of each entry of the data, or of each sample where ``rows`` is 0; empty where
            classes are not known.
    """

    seed: int = 0
    values: Mapping[str, tuple[Number, ...]] = field(default_factory=dict[str, tuple[Number, ...]])
    samples: tuple[Path, ...] = ()
    source: str = ""
    feedback: Mapping[str, str] = field(default_factory=dict[str, str])
    sha256: Mapping[str, str] = field(default_factory=dict[str, str])
    rows: int = 0
    rows_per_call: int = 0
    drawn: Distribution = "declared"
    labels: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        """How many different feeds take turns; 1 without samples."""
        return max(1, len(self.samples))

    @property
    def checked_calls(self) -> int:
        """How many calls are compared with the reference: one for each sample, or the first steps of a loop."""
        return max(self.count, LOOP_STEPS) if self.feedback else self.count
