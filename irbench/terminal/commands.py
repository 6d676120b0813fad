"""What a feature declares of its commands, so that ``irbench --help`` lists them without importing any."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

Heading: TypeAlias = Literal["Everyday", "Measure", "Decide", "Understand", "Models", "Results", "Machine"]


class Command(NamedTuple):
    """A command of the command line, which lies beside this declaration.

    Attributes:
        name: As it is typed.
        heading: Under which ``irbench --help`` lists it.
        summary: What it does, in one line.
        module: The module of the feature's folder whose ``command`` it is.
        rank: Where it stands under its heading: the lowest first, equal ones by name.
        only_prints: The subcommands that only print, ``""`` for the command itself: nothing is lost if they end with
            the reader of a pipe.
    """

    name: str
    heading: Heading
    summary: str
    module: str = "command"
    rank: int = 1
    only_prints: tuple[str, ...] = ()
