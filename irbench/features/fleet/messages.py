"""What a coordinator and a target tell each other: bytes of MessagePack, checked when they are read, never pickles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias, TypeVar

import msgspec

from irbench.errors import IrbenchError
from irbench.features.plan.expansion import SweepTable
from irbench.features.tune.report import Conclusion, TunedSetting
from irbench.store.folders import ULID
from irbench.system.document_damage import damage_text
from irbench.system.prepared_types import prepared

FORMAT = 3
"""Of the messages: a target of another format is refused."""
Command: TypeAlias = Literal["sweep", "tune", "serve"]
"""Which command of irbench measures a table."""

Name: TypeAlias = Annotated[str, msgspec.Meta(max_length=400)]
"""What is sent as a name or a version has no more characters."""
Said: TypeAlias = Annotated[str, msgspec.Meta(max_length=1 << 16)]
"""Nor has what is sent as a reason, of which a line is shown."""
RunId: TypeAlias = Annotated[str, msgspec.Meta(pattern=rf"\A({ULID})?\Z")]
"""A ULID, or nothing where there is no run."""

T = TypeVar("T")


class NotAsked(IrbenchError):
    """Somebody sent something else than was asked for.

    Attributes:
        reason: What is wrong with it.
    """

    def __init__(self, sender: str, reason: str) -> None:
        super().__init__(
            f"{sender} sent something else than it was asked for: {reason}.",
            hint="Install the same irbench there; if it is the same, do not trust that machine.",
        )
        self.reason = reason


class SentFile(msgspec.Struct, frozen=True):
    """A file that a target gets, once.

    Attributes:
        place: Where it lies in the folder of a job, with slashes.
        sha256: Of its content, in hexadecimal.
    """

    place: str
    sha256: str
    size_bytes: int


class JobRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Tables of a plan to be measured.

    Attributes:
        job: Its id; a target continues a job that it has begun, and answers again with one that it has finished.
        name: Of the fleet that the tables belong to.
        tables: As they are in the plan; of any command but ``sweep``, a cell each, whose settings are its options.
        places: What stands for a model or data there, by what the plan has.
    """

    format: int = FORMAT
    job: str
    name: str
    tables: tuple[SweepTable, ...]
    files: tuple[SentFile, ...]
    places: Mapping[str, str]
    command: Command = "sweep"


class Tuned(msgspec.Struct, frozen=True, kw_only=True):
    """What a search on a target recommends; see :class:`irbench.features.tune.report.TuningReport`.

    Attributes:
        setting: The recommended one, a row of the confirmation; ``None`` where nothing could be measured.
        search_run: The id of the run that holds the search; empty where it did not begin.
        new_tokens: Tokens that each call generates; ``None`` where calls are single inferences.
    """

    conclusion: Conclusion
    setting: TunedSetting | None
    is_confirmed: bool
    deciding_budget_s: float | None
    search_run: RunId
    new_tokens: int | None = None


class TableOutcome(msgspec.Struct, frozen=True):
    """What came of one table.

    Attributes:
        run: The id of its run, of a search that of the confirmation where there is one; empty where it has none.
        tuned: What a search recommends; ``None`` of anything else.
        message: Why it could not be measured; empty where it was, or lies beyond the end of its curve.
    """

    table: Name
    run: RunId = ""
    exit_code: int = 0
    message: Said = ""
    hint: Said = ""
    tuned: Tuned | None = None


class JobOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a job.

    Attributes:
        kind: ``busy`` where somebody else measures on the machine, ``refused`` where nothing of it can be measured,
            ``wants-files`` where files are to be sent before it is asked for again, ``died`` where its process was
            killed, and ``unwritable`` where the target can keep no files: it is the target's fault and not the job's.
        wanted: Digests of these files, SHA-256 in hexadecimal.
        archive: The runs, as ``irbench results export`` writes them; empty where there is none.
    """

    kind: Literal["measured", "busy", "refused", "wants-files", "died", "unwritable"]
    tables: tuple[TableOutcome, ...] = ()
    message: Said = ""
    hint: Said = ""
    archive: bytes = b""
    wanted: tuple[Name, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether every table was measured, or lies beyond the end of its curve."""
        return self.kind == "measured" and not any(table.message for table in self.tables)


class TargetFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a target says of itself.

    Attributes:
        machine: A digest that tells machines apart, those of one boot; containers on a machine are that machine.
        processor: The model of its processors.
        distributions: Versions of what is installed, by name.
        utc: Its time, ISO 8601.
    """

    format: int = FORMAT
    irbench_version: Name
    python: Name
    machine: Name
    processor: Name
    processors: int
    memory_bytes: int
    distributions: Mapping[Name, Name]
    utc: Name


def packed(message: msgspec.Struct) -> bytes:
    """Return a message as bytes."""
    return msgspec.msgpack.encode(message)


def unpacked(data: bytes, kind: type[T], sender: str) -> T:
    """Return the message in bytes that came from somewhere.

    Raises:
        NotAsked: They are no such message.
    """
    try:
        return msgspec.msgpack.decode(data, type=prepared(kind))
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise NotAsked(sender, damage_text(error)) from error
