"""What an interpreter says of itself, and whether irbench's workers can run in it."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from irbench.errors import ExitCode, IrbenchError
from irbench.system.installation import DISTRIBUTION, pip_command_of
from irbench.system.programs import python_process

_NEEDED = ("numpy", "onnx")
"""What workers import of all that irbench requires; the rest is needed where results are stored and shown."""
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_FLOOR = re.compile(r">=\s*([0-9.]+)")


def worker_requirements() -> dict[str, str]:
    """Return what irbench requires of its workers' environment, by distribution: ``{"numpy": "numpy>=2.1"}``."""
    requirements: dict[str, str] = {}
    for requirement in metadata.requires(DISTRIBUTION) or ():
        needed, _, marker = requirement.partition(";")
        if "extra" not in marker and name_of(needed) in _NEEDED:
            requirements[name_of(needed)] = needed.replace(" ", "")
    return requirements


def pinned_requirements(but: str) -> tuple[str, ...]:
    """Return the same in the versions that irbench runs with, so that environments differ in their runtime alone.

    It does not include the distribution of the runtime.
    """
    return tuple(f"{name}=={metadata.version(name)}" for name in worker_requirements() if name != but)


def name_of(requirement: str) -> str:
    """Return the distribution that a requirement names."""
    match = _NAME.match(requirement.strip())
    assert match is not None, requirement
    return re.sub(r"[-_.]+", "-", match[0]).lower()


def is_older(version: str, requirement: str) -> bool:
    """Whether a version is below the lower bound of a requirement, by its numbers alone."""
    floor = _FLOOR.search(requirement)
    return floor is not None and _numbers(version) < _numbers(floor[1])


def _numbers(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version: those of 2.1.0rc1 are 2, 1 and 0."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, match[0].split("."))) if match is not None else ()


OLDEST = (3, 11)
_DEADLINE_S = 60.0
_SCRIPT = """
import sys
sys.path[:] = [folder for folder in sys.path if folder]
import json
found = {"version": list(sys.version_info[:3]), "distributions": {}, "has_pip": False}
if sys.version_info >= (3, 8):
    from importlib import metadata, util
    found["has_pip"] = util.find_spec("pip") is not None
    for name in sys.argv[1:]:
        try:
            found["distributions"][name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
print(json.dumps(found))
"""
"""Of what any Python 3 can run, and nothing of the folder that it is called in."""


@dataclass(frozen=True)
class Inspection:
    """An interpreter.

    Attributes:
        distributions: Versions of what irbench's workers need, by name; what is missing is not there.
        has_pip: Whether it can install into its environment itself.
    """

    python: str
    version: tuple[int, ...]
    distributions: Mapping[str, str]
    has_pip: bool

    @property
    def version_text(self) -> str:
        """``3.11.7``."""
        return ".".join(map(str, self.version))


def inspect_python(python: str) -> Inspection:
    """Return what an interpreter says of itself."""
    _, environment = python_process(python=python)
    try:
        done = subprocess.run(
            [python, "-c", _SCRIPT, *worker_requirements()],  # without -P: one that is too old for it answers, too
            capture_output=True,
            text=True,
            timeout=_DEADLINE_S,
            check=True,
            env=environment,
            stdin=subprocess.DEVNULL,
        )
        answer: dict[str, Any] = json.loads(done.stdout)
        return Inspection(python, tuple(answer["version"]), answer["distributions"], bool(answer["has_pip"]))
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        raise IrbenchError(
            f"{python} does not answer as a Python does.", hint="Name the python of an environment, or its folder."
        ) from error


def require_able(inspection: Inspection) -> None:
    """Refuse an environment in which irbench's workers cannot run."""
    if inspection.version < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise IrbenchError(
            f"{inspection.python} is Python {inspection.version_text}, and irbench needs {oldest} or newer.",
            hint=f"Make an environment with a newer one: uv venv --python {oldest}",
        )
    missing = {
        name: requirement
        for name, requirement in worker_requirements().items()
        if name not in inspection.distributions or is_older(inspection.distributions[name], requirement)
    }
    if missing:
        raise IrbenchError(
            f"The environment of {inspection.python} lacks what irbench needs there: {', '.join(missing)}.",
            hint=f"Install it with: {install_into(inspection, *missing.values())}",
            exit_code=ExitCode.NOT_INSTALLED,
        )


def install_into(environment: Inspection, *requirements: str) -> str:
    """Return the command that installs distributions into an environment."""
    return pip_command_of(environment.python, "install", *requirements, has_pip=environment.has_pip)
