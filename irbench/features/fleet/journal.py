"""What a fleet has done: one file of JSON lines that only grows while a call measures, beside the runs of its results.

Layout: ``fleets/<name>/journal.jsonl`` in the folder of results. The first line is what was known when a call began;
each other line is what changed, and is on the disk before anything follows from it. A line that was cut short is
ignored. The runs themselves are in the store: a job is done here when its runs are there.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from irbench import __version__
from irbench.errors import IrbenchError
from irbench.features.fleet.job_queue import GivenUp
from irbench.features.fleet.messages import TableOutcome
from irbench.features.fleet.problems import TargetProblem
from irbench.measure.clock import utc_now
from irbench.store.sweeps import require_name
from irbench.system.document_damage import damage_text
from irbench.system.file_access import append_synced, read_regular, write_atomically
from irbench.system.installation import upgrade_hint
from irbench.system.locks import hold
from irbench.system.prepared_types import prepared

FORMAT = 1
_FILE = "journal.jsonl"
_MOST_BYTES = 1 << 30
"""So long are the lines of 100,000 jobs with 10 kB each."""


End: TypeAlias = Literal["measured", "refused"] | GivenUp
"""How a job ended."""


class JobRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of a job.

    Attributes:
        kind: ``measured``; ``refused`` by its target; or why it was given up.
        target: That measured or refused it; empty where none did.
        message: What its target said of it, as errors of irbench or of its system have it.
        problems: Why each target of its pool was not there or may not measure, where it was given up for that.
    """

    job: str
    pool: str
    kind: End
    target: str = ""
    labels: tuple[str, ...] = ()
    tables: tuple[TableOutcome, ...] = ()
    message: str = ""
    hint: str = ""
    problems: Mapping[str, TargetProblem] = {}

    @property
    def is_done(self) -> bool:
        """Whether nothing of it is tried again."""
        return self.kind == "measured" and not any(table.message for table in self.tables)

    @property
    def has_runs(self) -> bool:
        """Whether anything of it is stored."""
        return any(table.run for table in self.tables)


class TargetRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A target as it was seen last.

    Attributes:
        price_per_hour: In the call before, by which all its rows are priced.
        clock_ahead_s: By how much its clock is ahead of this machine's; ``None`` where nobody knows.
        problem: Why it may not measure, or was not there; ``None`` where it may.
    """

    name: str
    pool: str = ""
    price_per_hour: float | None = None
    machine: str = ""
    processor: str = ""
    processors: int = 0
    clock_ahead_s: float | None = None
    problem: TargetProblem | None = None


class JournalChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of the file: what takes the place of what was known before.

    Attributes:
        begun: Which target began a job that is not done, by the id of the job: its launches are there.
    """

    jobs: dict[str, JobRecord] = {}
    targets: dict[str, TargetRecord] = {}
    begun: dict[str, str] = {}


class JournalDocument(JournalChange, frozen=True, kw_only=True, omit_defaults=False):
    """All that is known: the first line, in which the others are taken.

    Attributes:
        fleet: An id: jobs of another one begin anew.
        planned: How many tables the whole plan has, of which a call may measure some.
        pools: That the last call asks, each of which measures all tables of the plan.
    """

    format: int = FORMAT
    name: str
    fleet: str
    created: str
    irbench_version: str
    plan: Mapping[str, Any]
    planned: int
    pools: tuple[str, ...] = ()

    def take(self, change: JournalChange) -> None:
        """Take in what changed; a job that is done is begun by nobody."""
        self.jobs.update(change.jobs)
        self.targets.update(change.targets)
        self.begun.update(change.begun)
        for job, record in change.jobs.items():
            if record.is_done:
                self.begun.pop(job, None)


class Unwritable(IrbenchError):
    """The folder of results cannot be written, so that no more can be taken in."""

    def __init__(self, folder: Path, error: OSError) -> None:
        super().__init__(
            f"{folder} cannot be written: {error.strerror or error}.",
            hint="Free some space there, and go on with --resume: targets keep what was not taken in.",
        )


class Journal:
    """The journal of one fleet, which this process alone may write while the object lives."""

    def __init__(self, root: Path, document: JournalDocument) -> None:
        require_name(document.name)
        self.folder = root / "fleets" / document.name
        self.document = document
        self._lock: int | None = None
        self._size: int | None = None

    def begin(self) -> None:
        """Keep others from writing.

        Raises:
            IrbenchError: Another process writes it, or the disk is full.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = hold(self.folder)
        except BlockingIOError as error:
            raise IrbenchError(
                f"The fleet {self.document.name} is run by another process.",
                hint="Wait until it has finished, or choose another name with --name.",
            ) from error
        except OSError as error:
            raise Unwritable(self.folder, error) from error

    def close(self) -> None:
        """Let other processes go on with the fleet; one that nothing has come of leaves nothing."""
        with contextlib.suppress(OSError):
            self.folder.rmdir()
            self.folder.parent.rmdir()
        if self._lock is not None:
            os.close(self._lock)
        self._lock = None

    def add(self, *records: JobRecord) -> None:
        """Take in what came of jobs, and wait until the disk has it."""
        self._write(JournalChange(jobs={record.job: record for record in records}))

    def begin_job(self, job: str, target: str) -> None:
        """Take in which target begins a job, before it does."""
        if self.document.begun.get(job) != target:
            self._write(JournalChange(begun={job: target}))

    def ask(self, prices: Mapping[str, float | None], pools: Collection[str]) -> None:
        """Take in which targets a call asks, before it does: what was wrong in earlier calls is over.

        Targets have no problem until they show one, and what is stored is priced by what an hour of each target costs
        today. A job that failed in a pool that is not asked is no job any more, and so is a target without a run; what
        was stored of one stays.
        """
        jobs = {job: record for job, record in self.document.jobs.items() if record.pool in pools or record.has_runs}
        have_runs = {record.target for record in jobs.values() if record.has_runs}
        targets = {
            name: msgspec.structs.replace(target, problem=None, price_per_hour=prices.get(name, target.price_per_hour))
            for name, target in self.document.targets.items()
            if name in prices or name in have_runs
        }
        asked = msgspec.structs.replace(self.document, targets=targets, jobs=jobs, pools=tuple(sorted(pools)))
        before, self.document = self.document, asked
        if asked != before and (before.jobs or before.targets):
            self._size = None  # lines take nothing away
            self._write(JournalChange())

    def see(self, name: str, **facts: Any) -> None:
        """Take in what is known of a target: fields of :class:`TargetRecord`, beside those that are known."""
        known = self.document.targets.get(name, TargetRecord(name=name))
        seen = msgspec.structs.replace(known, **facts)
        if seen != self.document.targets.get(name):
            self._write(JournalChange(targets={name: seen}))

    def _write(self, change: JournalChange) -> None:
        """Take in what changed, and wait until the disk has it: the first of this object replaces the file."""
        self.document.take(change)
        data = msgspec.json.encode(self.document if self._size is None else change) + b"\n"
        try:
            if self._size is None:
                write_atomically(self.folder / _FILE, data)
            else:
                append_synced(self.folder / _FILE, self._size, data)
        except OSError as error:
            raise Unwritable(self.folder, error) from error
        self._size = (self._size or 0) + len(data)


def journal_to_write(root: Path, name: str, plan: Mapping[str, Any], planned: int, *, resume: bool) -> Journal:
    """Return the journal of a fleet with a plan of so many tables, which goes on with what was begun.

    Raises:
        IrbenchError: Jobs have ended before without ``resume``, or are of another plan.
    """
    asked = msgspec.json.decode(msgspec.json.encode(plan, enc_hook=str))
    known = read_journal(root, name)
    if known is not None and known.jobs and not resume:
        raise IrbenchError(
            f"The fleet {name} was begun at {known.created} and has {len(known.jobs)} jobs that ended.",
            hint="Go on with --resume, or choose another name with --name.",
        )
    if known is not None and known.jobs and known.plan != asked:
        keys = sorted(key for key in {*known.plan, *asked} if known.plan.get(key) != asked.get(key))
        raise IrbenchError(
            f"The plan is not the one that the fleet {name} was begun with: {', '.join(keys)} changed.",
            hint="Undo the change, or measure the new plan under another name with --name.",
        )
    if known is None or known.plan != asked:
        known = JournalDocument(
            name=name,
            fleet=secrets.token_hex(8),
            created=utc_now().isoformat(timespec="seconds"),
            irbench_version=__version__,
            plan=asked,
            planned=planned,
        )
    return Journal(root, known)


def read_journal(root: Path, name: str) -> JournalDocument | None:
    """Return the journal of a fleet, ``None`` where there is none.

    Raises:
        IrbenchError: It cannot be read.
    """
    require_name(name)
    path = root / "fleets" / name / _FILE
    try:
        data = read_regular(path, _MOST_BYTES)
        first, *lines = data[: data.rfind(b"\n") + 1].splitlines() or [b""]
        document = msgspec.json.decode(first, type=prepared(JournalDocument))
        decode = msgspec.json.Decoder(prepared(JournalChange)).decode
        for line in lines if document.format == FORMAT else ():
            document.take(decode(line))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise IrbenchError(f"{path} cannot be read: {error.strerror or error}.", hint="Check the path.") from error
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise IrbenchError(
            f"{path} is damaged: {damage_text(error)}.",
            hint="Run the plan under another name with --name; its runs are not affected.",
        ) from error
    if document.format != FORMAT:
        raise IrbenchError(f"{path} was written by a newer irbench.", hint=upgrade_hint())
    return document


def fleet_names(root: Path) -> tuple[str, ...]:
    """Return the names of the fleets with a journal, the newest first."""
    paths = sorted(root.glob(f"fleets/*/{_FILE}"), key=lambda path: path.stat().st_mtime, reverse=True)
    return tuple(path.parent.name for path in paths)
