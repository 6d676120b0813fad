"""Whether what came of a job is what was asked for: a target that is mistaken, or lies, is refused and named."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import chain

from irbench import __version__
from irbench.core.result import RunDocument
from irbench.features.fleet.jobs import Job, with_places
from irbench.features.fleet.messages import JobOutcome, JobRequest, NotAsked, TargetFacts, packed
from irbench.features.plan.expansion import SweepTable
from irbench.requests.run_requests import LONGEST_NAME

_SETTINGS = ("backends", "streams", "instances", "threads")
"""Of a table, which the plan of its run has under the same keys."""
_MOST_BYTES = 1 << 16
_OF_A_MODEL = ")"
"""What the digest of a model's file is called ends so, as in ``resnet50 (onnx)``."""


def require_asked(
    sender: str,
    job: Job,
    request: JobRequest,
    outcome: JobOutcome,
    documents: Mapping[str, RunDocument],
    models: Collection[str],
    facts: TargetFacts,
) -> None:
    """Refuse an outcome that is of other tables, other models, other settings or another machine.

    Args:
        sender: The target.
        job: What was to be measured.
        request: How it was asked for.
        outcome: What the target says came of it.
        documents: The runs that came with it, by their ids.
        models: Digests of the models' files, SHA-256 in hexadecimal.
        facts: What the target said of itself before.

    Raises:
        NotAsked: It is.
    """
    for reason in _contradictions(job, request, outcome, documents, models, facts):
        raise NotAsked(sender, reason)


def _contradictions(
    job: Job,
    request: JobRequest,
    outcome: JobOutcome,
    documents: Mapping[str, RunDocument],
    models: Collection[str],
    facts: TargetFacts,
) -> Iterator[str]:
    tables = {pair[0].id: pair for pair in zip(job.tables, with_places(job.tables, request.places), strict=True)}
    named = [table.table for table in outcome.tables]
    if len(set(named)) < len(named) or not set(named) <= tables.keys():
        yield "tables that are not of the job"
    if outcome.kind == "measured" and set(named) < tables.keys():
        yield "no answer for some tables of the job"
    if any((table.tuned is not None) != (job.command == "tune") for table in outcome.tables):
        yield "what a search found where none was asked for, or nothing of one"
    if any(len(packed(table)) > _MOST_BYTES for table in outcome.tables):
        yield "more than there is to say of a table"
    claims = _claims(outcome)
    runs = dict(claims)
    if len(runs) < len(claims):
        yield "one run for several tables"
    if runs.keys() - documents.keys():
        yield "the id of a run that it did not send"
    if documents.keys() - runs.keys():
        yield "a run that is of no table"
    for run, document in documents.items():
        yield from _contradictions_of_run(job, request, document, tables[runs[run]], models, facts)


def _contradictions_of_run(
    job: Job,
    request: JobRequest,
    document: RunDocument,
    tables: tuple[SweepTable, SweepTable],
    models: Collection[str],
    facts: TargetFacts,
) -> Iterator[str]:
    asked, _ = tables
    found = {sha256 for name, sha256 in document.file_digests.items() if name.endswith(_OF_A_MODEL)}
    if not found <= set(models) or (models and not found):
        yield "a run of another model"
    if not any(_is_named_after(document, request, table) for table in tables):
        yield "a run of another plan"
    if job.command == "sweep" and not _has_batches(document, asked):
        yield "a run of other batch sizes"
    compared = ("backends",) if job.command == "tune" else _SETTINGS  # a search also measures defaults
    yield from (f"a run of other {key}" for key in compared if not _has_settings(document, asked, key))
    if not _is_of_machine(document, facts):
        yield "a run of another machine or another irbench"


def _claims(outcome: JobOutcome) -> set[tuple[str, str]]:
    """Return the ids of runs, each with the table that it is said to be of."""
    pairs = ((table.table, (table.run, table.tuned.search_run if table.tuned else "")) for table in outcome.tables)
    return {(run, table) for table, runs in pairs for run in runs if run}


def _has_batches(document: RunDocument, table: SweepTable) -> bool:
    batches = {*table.values("batch"), *filter(None, [table.batch_before])}
    return not batches or {*map(repr, document.plan.batches or ())} == {*map(repr, batches)}


def _has_settings(document: RunDocument, table: SweepTable, key: str) -> bool:
    """Whether a run has no other values than a table names; words such as ``native`` are numbers by now."""
    values = chain.from_iterable(value if isinstance(value, list | tuple) else [value] for value in table.values(key))
    asked = {word.strip() for value in values for word in str(value).split(",")}
    if not asked or (key != "backends" and not all(word.isdecimal() for word in asked)):
        return True
    sent = getattr(document.plan, key)
    return bool(sent) and all({str(value), str(value).partition(":")[0]} & asked for value in sent)


def _is_of_machine(document: RunDocument, facts: TargetFacts) -> bool:
    cpu = document.environment.get("cpu")
    processor = cpu.get("Model name", facts.processor) if isinstance(cpu, Mapping) else None
    found = (document.irbench_version, processor, document.environment.get("python"))
    return found == (__version__, facts.processor, facts.python)


def _is_named_after(document: RunDocument, request: JobRequest, table: SweepTable) -> bool:
    name = f"{request.name} {table.label}"[:LONGEST_NAME].strip()
    return document.plan.name in (name, f"{name} search")
