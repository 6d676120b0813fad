"""Where a runtime comes from, as users name it: a release, a wheel, an interpreter, or what is installed."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from irbench.environments.uv import Unsolvable, call_uv
from irbench.errors import IrbenchError
from irbench.system.file_states import exists, is_file, is_folder

INSTALLED = "installed"
"""How users name the environment that irbench runs in."""

_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?P<versions>[=<>~!].*)?")
_EXACT = re.compile(r"===?\s*(?P<version>[A-Za-z0-9][A-Za-z0-9.+!_-]*)")
_COMPILE = ("pip", "compile", "-", "--no-deps", "--no-header", "--no-annotate")
_WHEEL = re.compile(r"(?P<name>[^-]+)-(?P<version>[^-]+)-.+\.whl")
_FORMS = "Write a release (onnxruntime==1.22.0), a wheel, the Python of an environment, or installed."


@dataclass(frozen=True)
class Installed:
    """The environment that irbench runs in."""


@dataclass(frozen=True)
class Interpreter:
    """An environment of the user's."""

    path: Path


@dataclass(frozen=True)
class Release:
    """A version of a runtime that irbench builds an environment with.

    Attributes:
        wheel: The file that it is installed from; ``None`` for the index that uv is configured with.
        digest: The file's checksum: a wheel that is built again has the same name.
    """

    distribution: str
    version: str
    wheel: Path | None = None
    digest: str = ""

    @property
    def requirement(self) -> str:
        """What uv installs."""
        return str(self.wheel) if self.wheel is not None else f"{self.distribution}=={self.version}"


Source: TypeAlias = Installed | Interpreter | Release


def parse_source(text: str) -> Source:
    """Return what a user named.

    A release that is not exact is the newest that fits, which uv finds out.
    """
    if text == INSTALLED:
        return Installed()
    if os.sep in text:
        return _file(text, Path(text).expanduser())
    requirement = _REQUIREMENT.fullmatch(text.strip())
    if text and exists(Path(text)) and (requirement is None or not requirement["versions"]):
        raise IrbenchError(
            f"{text!r} is in the current folder, and may be the name of a distribution, too.",
            hint=f"Write ./{text} for the file or folder, or a release such as onnxruntime==1.22.0.",
        )
    if requirement is None or text[0].isdigit():
        raise IrbenchError(f"{text!r} does not name a runtime to measure.", hint=_FORMS)
    exact = _EXACT.fullmatch(requirement["versions"] or "")
    if exact is not None:
        return Release(normalised(requirement["name"]), exact["version"])
    return exact_release(requirement["name"], requirement["versions"] or "")


def exact_release(distribution: str, versions: str) -> Release:
    """Return the newest release that fits and has a wheel for this Python.

    ``versions`` are bounds as in ``>=1.22,<1.31``; empty for any.

    Raises:
        irbench.environments.uv.Unsolvable: There is none.
    """
    requirement = f"{distribution}{versions}"
    answer = call_uv(*_COMPILE, "--python", sys.executable, "--only-binary", distribution, stdin=requirement)
    name, _, version = answer.strip().partition("==")
    return Release(normalised(name), version.partition(";")[0].strip())


def normalised(distribution: str) -> str:
    """Return the name of a distribution as registries compare it."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def _file(text: str, path: Path) -> Source:
    if is_folder(path):  # an environment's own folder
        path = path / "bin" / "python"
    if not is_file(path):
        raise IrbenchError(f"{text} is neither a Python interpreter nor a wheel.", hint=_FORMS)
    wheel = _WHEEL.fullmatch(path.name)
    if wheel is None:
        return Interpreter(path.absolute())  # a link that is resolved is the Python outside the environment
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Release(normalised(wheel["name"]), wheel["version"], path.absolute(), digest)


_MOST = 500


def releases_between(distribution: str, first: str, last: str) -> tuple[str, ...]:
    """Return the versions from one to another, both included, the oldest first.

    Those without a wheel for this Python are left out, and pre-releases unless a bound is one.

    ``1.22`` means 1.22.0.
    """
    versions: list[str] = []
    bound = f"<={last}"
    while len(versions) < _MOST:
        try:
            versions.append(exact_release(distribution, f">={first},{bound}").version)
        except Unsolvable as error:
            return _at_least_two(versions, f"{distribution} from {first} to {last}", error)
        bound = f"<{versions[-1]}"
    raise IrbenchError(f"There are over {_MOST} versions of {distribution}.", hint="Choose nearer ends.")


def _at_least_two(versions: list[str], range_: str, error: Unsolvable) -> tuple[str, ...]:
    if not versions:
        raise IrbenchError(
            f"There is no release of {range_} for this Python.",
            hint=f"Check the name, and give the older version first. {error.message}",
        )
    if len(versions) == 1:
        raise IrbenchError(
            f"There is one release of {range_}: {versions[0]}.", hint="Choose ends that are further apart."
        )
    return tuple(reversed(versions))
