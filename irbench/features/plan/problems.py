"""Why tables of a plan cannot be measured on this machine, before anything is exported."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from irbench.errors import IrbenchError
from irbench.features.plan.expansion import SweepTable
from irbench.features.plan.table_options import SweepSetup, table_options
from irbench.optimizer import variant
from irbench.options.option import options_of
from irbench.options.run import RunOptions, plan_key
from irbench.requests.resolve import require_model, resolve_backends
from irbench.requests.run_requests import allowed_cpus, refuse_contradictions, requested

_NOT_LOOKED_UP = frozenset(
    plan_key(name) for name, declared in options_of(RunOptions).items() if not declared.is_looked_up
)
"""Settings of a table that nothing has to be looked up for."""


def problems_here(tables: Sequence[SweepTable], setup: SweepSetup) -> Iterator[str]:
    """Yield a line for each reason why tables cannot be measured on this machine, before anything is exported."""
    looked_up: set[str] = set()
    models: set[tuple[str, tuple[str, ...]]] = set()
    said: set[str] = set()
    for table in tables:
        shared = {key: value for key, value in table.shared.items() if key not in (*_NOT_LOOKED_UP, "models")}
        key = json.dumps([shared, *(table.values(key) for key in table.compare if key not in _NOT_LOOKED_UP)])
        unchecked = {(model, tuple(shared.get("import", ()))) for model in map(str, table.values("models"))} - models
        if key in looked_up and not unchecked:
            continue
        for problem in _problems(table, setup, known=key in looked_up):
            if problem not in said:
                yield f"{table.label}: {problem}"
            said.add(problem)
        looked_up.add(key)
        models |= unchecked


def _problems(table: SweepTable, setup: SweepSetup, *, known: bool) -> Iterator[str]:
    """Yield what is wrong with a table; what every part of it needs is looked up by itself, to name all at once."""
    try:
        options = table_options(table, setup)
    except IrbenchError as error:
        yield _problem_text(error)
        return
    checks = [partial(require_model, model, options.imports) for model in options.models]
    problems = tuple(_failing([*checks, *(() if known else _lookups(options))]))
    yield from problems
    if not (problems or known):
        yield from _failing([partial(requested, options)])


def _lookups(options: RunOptions) -> Iterator[Callable[[], object]]:
    yield partial(refuse_contradictions, options)
    yield from (partial(resolve_backends, (backend,)) for backend in options.backends or ())
    yield from (partial(variant, level) for level in options.optimize)
    yield partial(allowed_cpus, options.cpus)


def _failing(checks: Iterable[Callable[[], object]]) -> Iterator[str]:
    for check in checks:
        try:
            check()
        except IrbenchError as error:
            yield _problem_text(error)


def _problem_text(error: IrbenchError) -> str:
    return f"{error.message} {error.hint}".strip()
