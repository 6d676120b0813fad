"""What is wrong with stored runs: one class a problem; one run that cannot be used stops no other."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from irbench.plain_text import plain
from irbench.quantities import listing, plural
from irbench.store.folders import UNSEARCHED_TEXTS, UnsearchedReason


class Nothing(msgspec.Struct, frozen=True):
    """No facts."""


class Error(msgspec.Struct, frozen=True):
    """What an error says."""

    message: str
    hint: str


class Problem(msgspec.Struct, frozen=True, tag_field="code"):
    """Why a run is left out, or used only in part.

    Attributes:
        run: The run's id, or the path where none is known.
    """

    run: str

    @property
    def code(self) -> str:
        """What it is called in documents."""
        return str(self.__struct_config__.tag)

    @property
    def hint(self) -> str:
        """What helps; empty where nothing is known to."""
        return ""

    def text(self) -> str:
        """Return it in a sentence."""
        raise NotImplementedError


class Unreadable(Problem, frozen=True, tag="unreadable"):
    """It is damaged, of a newer format, or was changed after it was stored."""

    facts: Error

    @property
    def hint(self) -> str:
        return self.facts.hint

    def text(self) -> str:
        return self.facts.message


class WithoutSamples(Problem, frozen=True, tag="without-samples"):
    """A document without the files that it was derived from."""

    facts: Nothing = msgspec.field(default_factory=Nothing)

    def text(self) -> str:
        return f"{self.run} is stored without its samples, and is not used."


class Altered(msgspec.Struct, frozen=True):
    """Rows whose figures were altered."""

    rows: tuple[str, ...]


class FiguresAltered(Problem, frozen=True, tag="figures-altered"):
    """Its figures do not follow from its samples."""

    facts: Altered

    def text(self) -> str:
        return (
            f"{self.run} is not used: the figures of {listing(self.facts.rows)} do not follow from its samples, so it"
            " was changed."
        )


class NoSpeeds(Problem, frozen=True, tag="no-speeds"):
    """A run of cold starts, or a soak."""

    facts: Nothing = msgspec.field(default_factory=Nothing)

    def text(self) -> str:
        return f"{self.run} measured cold starts or memory and not speeds, and is not used."


class NotMeasured(Problem, frozen=True, tag="not-measured"):
    """No launch was finished."""

    facts: Nothing = msgspec.field(default_factory=Nothing)

    def text(self) -> str:
        return f"{self.run} has no launch, and is not used."


class Finished(msgspec.Struct, frozen=True):
    """How many launches were finished."""

    launches: int


class Incomplete(Problem, frozen=True, tag="incomplete"):
    """It ended early, and what is there is used."""

    facts: Finished

    def text(self) -> str:
        return f"{self.run} is incomplete: {plural(self.facts.launches, 'launch')} of it are used."


class Models(msgspec.Struct, frozen=True):
    """Names that several models of a run have."""

    models: tuple[str, ...]


class SameNames(Problem, frozen=True, tag="same-names"):
    """Rows of different models have one name, and are not used."""

    facts: Models

    def text(self) -> str:
        return (
            f"{self.run} has different models of the name {listing(self.facts.models)}, and rows of one name are not"
            " used."
        )


class Files(msgspec.Struct, frozen=True):
    """A model, and how many runs there are of each of its files."""

    model: str
    runs: Mapping[str, int]


class SeveralFiles(Problem, frozen=True, tag="several-files"):
    """A name of different files with different graphs, which are used."""

    facts: Files

    def text(self) -> str:
        files = ", ".join(f"{source} ({plural(count, 'run')})" for source, count in self.facts.runs.items())
        return (
            f"{self.facts.model} is the name of different files with different graphs, so this may be the history of"
            f" different models: {files}. Give each file a name of its own."
        )


class Why(msgspec.Struct, frozen=True):
    """Why a path was not searched."""

    reason: UnsearchedReason


class NotSearched(Problem, frozen=True, tag="unsearched"):
    """A link, a pipe or a closed folder among the runs; ``run`` is its path."""

    facts: Why

    def text(self) -> str:
        return f"{plain(self.run)} {UNSEARCHED_TEXTS[self.facts.reason]}"
