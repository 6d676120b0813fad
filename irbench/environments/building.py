"""Build environments with uv, and keep them: one for each version of a runtime."""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from irbench import bundles
from irbench.environments.needs import pinned_requirements, worker_requirements
from irbench.environments.sources import Release
from irbench.environments.uv import Unsolvable, call_uv
from irbench.errors import IrbenchError
from irbench.system.files import replace_folder
from irbench.system.locks import temporary_folder, waiting_for

__all__ = ["build", "folder_of"]

_KEY_LENGTH = 12


def build(release: Release, say: Callable[[str], None]) -> str:
    """Return the interpreter of an environment with a release, built by uv unless it is there already.

    It has the Python that irbench runs in, and what workers need in the versions that irbench runs with; in others
    where the runtime needs them.

    Args:
        release: Which.
        say: Receives that one is built.

    Raises:
        IrbenchError: uv is not installed, or cannot install the release.
    """
    folder = folder_of(release)
    if not _is_whole(folder):
        try:
            _make_once(release, folder, say)
        except OSError as error:
            raise IrbenchError(
                f"{folder.parent} cannot be written: {error.strerror or error}.",
                hint="Set IRBENCH_HOME to a folder that you can write.",
            ) from error
    return str(folder / "bin" / "python")


def folder_of(release: Release) -> Path:
    """Return where the environment of a release is kept: another one for another Python or other requirements."""
    facts = [release.requirement, release.digest, sys.executable, platform.python_version()]
    facts += pinned_requirements(release.distribution)
    key = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:_KEY_LENGTH]
    name = f"environments/{release.distribution}-{release.version}-{key}"
    whole = (home / name for home in bundles.homes() if _is_whole(home / name))
    return next(whole, None) or bundles.home() / name


def _is_whole(folder: Path) -> bool:
    """Whether an environment is there with its Python, which may have been removed from the system."""
    return (folder / "bin" / "python").exists()


def _make_once(release: Release, folder: Path, say: Callable[[str], None]) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with waiting_for(folder.with_name(f".{folder.name}.lock")):
        if not _is_whole(folder):  # another process may have built it meanwhile
            say(f"building an environment with {release.distribution} {release.version}")
            _make(release, folder)


def _make(release: Release, folder: Path) -> None:
    with temporary_folder(folder.parent, ".building-") as staging:
        made = staging / "environment"
        call_uv("venv", "--no-project", "--relocatable", "--python", sys.executable, str(made))
        try:
            _install(release, made, pinned_requirements(release.distribution))
        except Unsolvable:
            _install(release, made, _unpinned(release))
        replace_folder(made, folder)


def _install(release: Release, environment: Path, others: Sequence[str]) -> None:
    """Install a release and what workers need.

    Raises:
        IrbenchError: They cannot be installed together.
    """
    python = str(environment / "bin" / "python")
    how = ("--python", python, "--only-binary", release.distribution)
    try:
        call_uv("pip", "install", *how, release.requirement, *others)
    except Unsolvable as error:
        what = f"{release.distribution} {release.version} cannot be installed for Python {platform.python_version()}"
        raise Unsolvable(f"{what}: {error.message}", hint=error.hint) from error
    except IrbenchError as error:
        raise IrbenchError(f"No environment was built: {error.message}", hint=error.hint) from error


def _unpinned(release: Release) -> tuple[str, ...]:
    return tuple(wanted for name, wanted in worker_requirements().items() if name != release.distribution)
