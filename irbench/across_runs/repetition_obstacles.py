"""Why nothing could be measured again: one class a reason, with its facts and its words."""

from __future__ import annotations

from typing import ClassVar

from irbench.core.quantities import listing
from irbench.notices.base import Notice
from irbench.runner.continuation import confinement_change


class RepetitionObstacle(Notice):
    """Why nothing could be measured again."""

    known: ClassVar[list[type[RepetitionObstacle]]] = []

    def text(self) -> str:
        """Return it as the rest of a sentence."""
        return self.says


class OtherMachine(RepetitionObstacle):
    code = "other-machine"
    says = "this is not the machine that it was measured on"


class OtherSoftware(RepetitionObstacle):
    code = "other-software"
    says = "other versions are installed now"

    names: tuple[str, ...]

    def text(self) -> str:
        return f"{self.says}: {listing(self.names)}"


class OtherConfinement(RepetitionObstacle):
    code = "other-confinement"
    says = "its workers were confined and would not be now, or the other way round"

    is_set: bool

    def text(self) -> str:
        how = "unset it" if self.is_set else "set it to 1"
        return f"{confinement_change(is_set=self.is_set)}: {how} to measure as it was measured"


class OtherGraph(RepetitionObstacle):
    code = "model-changed"
    says = "a graph is not the one that was measured"

    names: tuple[str, ...]

    def text(self) -> str:
        return f"the graph of {listing(self.names)} is not the one that was measured"


class OwnCode(RepetitionObstacle):
    code = "own-code"
    says = "the stored plan runs code, or uses files, of whoever stored it"
    in_documents: ClassVar[dict[str, str]] = {"named": "code"}

    named: tuple[str, ...]

    def text(self) -> str:
        return (
            f"the stored plan would run code or use files: {_as_written('; '.join(self.named))}"
            " (read it, then allow it with --allow-own-code)"
        )


class NotRepeatable(RepetitionObstacle):
    code = "not-repeatable"
    says = "it cannot be asked for again"

    message: str
    hint: str

    def text(self) -> str:
        return f"{self.message} {self.hint}".strip()


class RepetitionInterrupted(RepetitionObstacle):
    code = "interrupted"
    says = "it was interrupted"


def _as_written(code: str) -> str:
    """Return code whole, with escapes in place of what a terminal would not show."""
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in code)
