"""What the contracts of backends share: who keeps them, and a worker in which each is asked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from irbench.core import registry
from irbench.worker import Worker, call_in_worker

DEADLINE_S = 120
ENVIRONMENT = {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])}
# the stand-ins of other tests compute nothing, on purpose
REAL = [name for name in registry.names(registry.BACKENDS) if not name.startswith("fake-")]

Ask = Callable[..., Any]


def marked(names: Iterable[str]) -> list[Any]:
    """Return backends as parameters; those that read a graph of TensorFlow, which takes seconds to make, are for CI."""
    return [
        pytest.param(name, marks=[pytest.mark.ci] if "tf-graph" in registry.backend(name).consumes else [])
        for name in names
    ]


def installed(name: str) -> str:
    """Return the name of a backend, or skip the test where its runtime is not here."""
    if registry.backend(name).describe().version is None:
        pytest.skip(f"{name} is not installed here")
    return name


@contextmanager
def asking(checks: str, log: Path) -> Iterator[Ask]:
    """Start a worker, and yield what calls the functions of a module of checks in it."""
    with Worker(log, environment=ENVIRONMENT) as worker:
        yield lambda check, *args: worker.ask(f"{checks}:{check}", *args, deadline_s=DEADLINE_S)


def artifact_maker(checks: str, folders: pytest.TempPathFactory) -> Callable[[str], Any]:
    """Return what makes a small artifact of a kind once, in a process of its own.

    Whatever makes a framework's graph changes its process.
    """
    writers = {"onnx": "write_onnx", "tf-graph": "write_tf_graph"}

    @cache
    def make(kind: str) -> Any:
        written = f"{checks}:{writers[kind]}"
        return call_in_worker(written, folders.mktemp(kind), deadline_s=DEADLINE_S, environment=ENVIRONMENT)

    return make
