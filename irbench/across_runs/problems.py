"""What is wrong with stored runs, as codes with facts: one run that cannot be used stops no other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

ProblemCode = Literal[
    "unreadable",
    "without-samples",
    "figures-altered",
    "no-speeds",
    "not-measured",
    "incomplete",
    "same-names",
    "several-files",
    "unsearched",
]
"""``unreadable``: damaged, of a newer format or changed after it was stored; ``without-samples``: a document without
the files that it was derived from; ``figures-altered``: figures that do not follow from its samples; ``no-speeds``: a
run of cold starts or a soak; ``not-measured``: no launch was finished; ``incomplete``: it ended early, and what is
there is used; ``same-names``: rows of different models with one name, which are not used; ``several-files``: a name
of different files with different graphs, which are used; ``unsearched``: a link, a pipe or a closed folder among the
runs."""


@dataclass(frozen=True)
class Problem:
    """Why a run is left out, or used only in part.

    Attributes:
        run: The run's id, or the path where none is known.
        facts: What the words need: ``message`` and ``hint`` of an unreadable one, ``rows`` whose figures were altered,
            ``models`` of which several have one name; the ``model`` and how many ``runs`` there are of each file;
            the ``reason`` why a path was not searched.
    """

    code: ProblemCode
    run: str
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def excludes(self) -> bool:
        """Whether the run is not used."""
        return self.code not in ("incomplete", "same-names", "several-files")
