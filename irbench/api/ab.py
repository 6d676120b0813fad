"""``irbench.ab``: compare two versions of a runtime, each in a Python environment of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from os import PathLike
from pathlib import Path
from typing import Any, TypedDict, Unpack, cast

from irbench import bundles
from irbench.api.environments import Environments
from irbench.api.input_values import Data
from irbench.api.options import RUN_READERS, RunOptions, read_keywords
from irbench.api.progress import ProgressOption, Say, reporting
from irbench.api.requests import refuse_contradictions
from irbench.api.results import Run
from irbench.api.run import refuse_loaded_models, run_with
from irbench.environments import INSTALLED
from irbench.exporter import ExportOptions, from_onnx_file, validate
from irbench.spec import Objective
from irbench.system import host
from irbench.system.file_states import is_file

__all__ = ["AbKeywords", "ab", "require_models", "with_environments"]


class AbKeywords(TypedDict, total=False):
    """The keywords of :func:`irbench.ab` that :func:`irbench.run` has too, and which mean the same there.

    ``None`` is the default of each; :class:`irbench.RunKeywords` says what they are.
    """

    imports: str | Iterable[str] | None
    batch: str | int | Iterable[int] | None
    shape: Mapping[str, str | int | Iterable[int]] | None
    data: Data | None
    value: Mapping[str, Any] | None
    feedback: Mapping[str, str] | None
    streams: str | int | Iterable[int] | None
    instances: str | int | Iterable[int] | None
    precision: str | Iterable[str] | None
    optimize: str | Iterable[str] | None
    objective: Objective | None
    allow_mixed: bool | None
    threads: str | int | Iterable[int | str] | None
    cpus: str | int | Iterable[int] | None
    set: Mapping[str, Mapping[str, object]] | None
    io: str | None
    seed: int | None
    within: str | float | None
    budget: str | float | timedelta | None
    deadline: str | float | timedelta | None
    quick: bool | None
    thorough: bool | None
    tail: bool | None
    pace: str | float | timedelta | None
    warmup: str | int | timedelta | None
    sustain: str | float | timedelta | None
    cold: bool | None
    no_lock: bool | None
    results: str | PathLike[str] | None
    name: str | None
    note: str | None


def ab(
    *models: str | PathLike[str],
    b: str | PathLike[str],
    a: str | PathLike[str] = INSTALLED,
    backend: str | None = None,
    progress: ProgressOption = "auto",
    **options: Unpack[AbKeywords],
) -> Run:
    """Compare two versions of a runtime: workers of two Python environments take turns in one table.

    Args:
        models: As :func:`irbench.run` takes them.
        b: The version that is compared with ``a``: ``"onnxruntime==1.23.2"``, which uv installs into an environment
            that is kept, a wheel, or the Python of an environment of your own.
        a: The version that speedups are relative to; the installed one by default.
        backend: The backend, with an optional device; needed where both environments have the runtimes of several.
        progress: As :func:`irbench.run` takes it.
        options: Those of :class:`irbench.RunKeywords` that say what is measured and how.

    Returns:
        The run; its table has a row for each version.

    Raises:
        IrbenchError: An environment cannot be built or used, the plan is impossible, or results cannot be stored.
        Interrupted: Ctrl-C; what was measured is stored, and in its ``result``.
        TypeError: There is no such option.
    """
    refuse_loaded_models(models)
    readers = {name: RUN_READERS[name] for name in AbKeywords.__annotations__}
    read = read_keywords("ab", cast("Mapping[str, Any]", options), readers)
    asked = RunOptions(models=tuple(map(str, models)), **read)
    with reporting(progress) as reporter:
        return run_with(with_environments(asked, (str(a), str(b)), backend, reporter.say), reporter)


def with_environments(options: RunOptions, versions: Sequence[str], backend: str | None, say: Say) -> RunOptions:
    """Return options of a run with their backend, and a row of it for each version.

    Args:
        options: What is measured, and how.
        versions: As users name them, the baseline first.
        backend: As users name it; ``None`` for the one that is meant.
        say: Receives which environments are built.

    Raises:
        IrbenchError: An environment cannot be built or used, or what is measured is not there.
    """
    host.require_linux()
    refuse_contradictions(options)
    require_models(options.models, options.imports)
    address, environments = Environments(backend, say, insist=options.no_lock).of(versions)
    return replace(options, backends=(str(address),), environments=environments)


def require_models(models: Sequence[str], imports: tuple[str, ...]) -> None:
    """Refuse models that are not there, before an environment is built for them.

    Raises:
        IrbenchError: One of them is not there, or cannot be read.
    """
    for model in models:
        path = Path(model)
        if path.suffix == ".onnx":
            from_onnx_file(path)
        elif not is_file(path / bundles.CARD) and bundles.find(model) is None:
            validate(model, ExportOptions(imports=imports))
