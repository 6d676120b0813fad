"""What all contracts use: workers in which parts are asked, how answers differ, and failures that say what to do."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from importlib import metadata
from pathlib import Path
from typing import Any, NoReturn, ParamSpec, TypeAlias

import numpy as np
import pytest

from irbench.errors import IrbenchError
from irbench.spi import Array
from irbench.system.programs import python_process
from irbench.worker import Worker

Ask: TypeAlias = Callable[..., Any]
"""Calls a function in the worker of the part that is tested."""

Parameters = ParamSpec("Parameters")

DEADLINE_S = 120
_LAST_LINES = 12
_RTOL, _ATOL = 1e-4, 1e-5


def fail(problem: str, remedy: str) -> NoReturn:
    """Fail a test with a sentence that says what is wrong and one that says how to fix it, without a traceback."""
    raise pytest.fail.Exception(f"{problem}\n{remedy}", pytrace=False) from None


def in_words(test: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """Let a test show of a failed assertion only its sentence and its values: neither its source nor its arguments."""

    @wraps(test)
    def worded(*arguments: Parameters.args, **keywords: Parameters.kwargs) -> None:
        try:
            test(*arguments, **keywords)
        except AssertionError as error:
            raise pytest.fail.Exception(str(error), pytrace=False) from None

    return worded


@contextmanager
def asking(calls: str, name: str, folder: Path, environment: Mapping[str, str] | None = None) -> Iterator[Ask]:
    """Start a worker, and yield what calls functions of a module in it for a part; a test fails where one fails."""
    log = folder / "log"

    def ask(call: str, *arguments: Any) -> Any:
        printed_before = log.stat().st_size
        try:
            return worker.ask(f"{calls}:{call}", *arguments, deadline_s=DEADLINE_S)
        except IrbenchError as error:
            said = log.read_bytes()[printed_before:].decode(errors="replace").splitlines()[-_LAST_LINES:]
            fail(f"{name} failed in its worker: {error}", "\n".join(["The last that the worker printed:", *said]))

    with Worker(log, environment=environment) as worker:
        yield ask


def difference(answer: Sequence[Array], wanted: Sequence[Array]) -> str | None:
    """Return how outputs differ from the right ones, in a few words; ``None`` where they agree."""
    if len(answer) != len(wanted):
        return f"there are {len(answer)} outputs in place of {len(wanted)}"
    for place, (array, right) in enumerate(zip(answer, wanted, strict=True)):
        if array.dtype != right.dtype:
            return f"output {place} is {array.dtype} in place of {right.dtype}"
        if array.shape != right.shape:
            return f"output {place} has the shape {array.shape} in place of {right.shape}"
        if not np.allclose(array, right, rtol=_RTOL, atol=_ATOL, equal_nan=True):
            largest = np.max(np.abs(array.astype(np.float64) - right.astype(np.float64)))
            return f"output {place} differs by up to {largest:.3g}"
    return None


def modules_of(distributions: Sequence[str]) -> set[str]:
    """Return the top-level modules that distributions install."""
    wanted = {_normalised(name) for name in distributions}
    owners = metadata.packages_distributions()
    return {module for module, names in owners.items() if wanted & {*map(_normalised, names)}}


def own_modules(part: object) -> set[str]:
    """Return the top-level modules of a part's own code, which its distribution may have beside its framework."""
    return {kind.__module__.partition(".")[0] for kind in type(part).__mro__}


def imported_modules(code: str, besides: str) -> set[str]:
    """Return the top-level modules that a process of its own imports for ``code``, without those of ``besides``."""
    shown = "print(','.join({name.partition('.')[0] for name in sys.modules} - before))"
    script = f"import sys\n{besides}\nbefore = {{name.partition('.')[0] for name in sys.modules}}\n{code}\n{shown}"
    command, environment = python_process("-c", script)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        fail(f"This failed in a process of its own: {code}", done.stderr.strip())
    return {*done.stdout.strip().split(",")}


def _normalised(distribution: str) -> str:
    return distribution.lower().replace("_", "-").replace(".", "-")
