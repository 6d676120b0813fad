"""Environments that are to be compared, and the backend whose runtime all of them have."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata

from irbench.core import registry
from irbench.environments.building import build
from irbench.environments.inspection import Inspection, inspect_python, install_into, require_able, worker_requirements
from irbench.environments.runtime_sources import Installed, Release, Source, normalised
from irbench.errors import ExitCode, IrbenchError
from irbench.spec import PythonEnvironment
from irbench.spi import Description
from irbench.worker.process import call_in_worker

_DEADLINE_S = 60.0


@dataclass(frozen=True)
class EnvironmentCandidate:
    """An environment, and the backends whose runtimes it has.

    Attributes:
        inspection: What its interpreter says.
        python: Its interpreter; ``None`` for the one that irbench runs in.
        requirement: What irbench built it from; empty where it did not.
        distribution: Of the release that it was built with; empty where it was not.
        indexes: What its distributions come from, where irbench built it.
        backends: Descriptions by backend, in that environment.
    """

    text: str
    inspection: Inspection
    python: str | None
    requirement: str
    distribution: str
    backends: Mapping[str, Description]
    indexes: tuple[str, ...] = ()


def candidate(text: str, source: Source, say: Callable[[str], None]) -> EnvironmentCandidate:
    """Return what is known of an environment; one for a release is built if it is not there."""
    if isinstance(source, Installed):
        return EnvironmentCandidate(text, _own(), None, "", "", registry.describe_all(registry.BACKENDS))
    if isinstance(source, Release):
        built = build(source, say)
        inspection, backends = _looked_at(built.python)
        return EnvironmentCandidate(
            text, inspection, built.python, source.requirement, source.distribution, backends, built.indexes
        )
    inspection, backends = _looked_at(str(source.path))
    return EnvironmentCandidate(text, inspection, inspection.python, "", "", backends)


def _looked_at(python: str) -> tuple[Inspection, Mapping[str, Description]]:
    inspection = inspect_python(python)
    require_able(inspection)
    return inspection, call_in_worker(
        "irbench.core.registry:describe_all", registry.BACKENDS, deadline_s=_DEADLINE_S, python=python
    )


def shared_backend(candidates: Sequence[EnvironmentCandidate], backend: str | None) -> str:
    """Return the backend that is compared.

    Without a name it is the only one whose runtime all environments have. Of several it is the one that a release was
    asked for of, or whose versions differ.
    """
    if backend is not None:
        registry.entry_point(registry.BACKENDS, backend)
        for environment in candidates:
            _require(backend, environment)
        return backend
    shared = [name for name in registry.names(registry.BACKENDS) if all(_has(name, each) for each in candidates)]
    chosen = _meant(shared, candidates)
    if len(chosen) == 1:
        return chosen[0]
    if chosen:
        raise IrbenchError(
            f"Both environments have the runtimes of several backends: {', '.join(chosen)}.",
            hint=f"Choose one, for example `--backend {chosen[0]}`.",
        )
    raise IrbenchError(
        f"No backend's runtime is in both {' and '.join(each.text for each in candidates)}.",
        hint="; ".join(_runtimes(candidates)),
        exit_code=ExitCode.NOT_INSTALLED,
    )


def _meant(shared: list[str], candidates: Sequence[EnvironmentCandidate]) -> list[str]:
    """Return those of the shared backends that are most probably meant, or all of them."""
    released = {each.distribution for each in candidates if each.distribution}
    of_release = [
        name for name in shared if released & {normalised(each.backends[name].distribution) for each in candidates}
    ]
    left = of_release or shared
    differing = [name for name in left if len({each.backends[name].version for each in candidates}) > 1]
    return differing or left


def as_environment(key: str, backend: str, candidate: EnvironmentCandidate) -> PythonEnvironment:
    """Return an environment as cells name it, called by its runtime's version."""
    description = candidate.backends[backend]
    version = str(description.version)
    return PythonEnvironment(
        key=key,
        label=version,
        python=candidate.python,
        requirement=candidate.requirement,
        runtime=description.distribution,
        python_version=candidate.inspection.version_text,
        distributions={description.distribution: version, **candidate.inspection.distributions},
        indexes=candidate.indexes,
    )


def labelled(environments: Sequence[PythonEnvironment]) -> tuple[PythonEnvironment, ...]:
    """Return environments with labels of their own: those with the same version are told apart by their keys."""
    versions = [environment.label for environment in environments]
    return tuple(
        environment
        if versions.count(environment.label) == 1
        else replace(environment, label=f"{environment.label} {environment.key}")
        for environment in environments
    )


def _own() -> Inspection:
    distributions = {name: metadata.version(name) for name in worker_requirements()}
    return Inspection(sys.executable, tuple(sys.version_info[:3]), distributions, has_pip=True)


def _has(backend: str, environment: EnvironmentCandidate) -> bool:
    description = environment.backends.get(backend)
    return description is not None and description.version is not None


def _require(backend: str, environment: EnvironmentCandidate) -> None:
    if _has(backend, environment):
        return
    description = environment.backends.get(backend)
    distribution = description.distribution if description is not None else "its runtime"
    hint = f"Install it with: {install_into(environment.inspection, distribution)}" if description is not None else ""
    raise IrbenchError(
        f"{backend} needs {distribution}, which {environment.text} does not have.",
        hint=hint,
        exit_code=ExitCode.NOT_INSTALLED,
    )


def _runtimes(candidates: Sequence[EnvironmentCandidate]) -> Iterator[str]:
    for environment in candidates:
        names = [name for name in environment.backends if _has(name, environment)]
        yield f"{environment.text} has {', '.join(names) or 'none'}"
