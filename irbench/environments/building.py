"""Build environments with uv, and keep them: one for each version of a runtime."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from irbench.environments.inspection import pinned_requirements, worker_requirements
from irbench.environments.runtime_sources import Release
from irbench.environments.uv import Unsolvable, call_uv, digest_of_settings
from irbench.errors import IrbenchError
from irbench.store import bundles
from irbench.system.file_access import replace_folder
from irbench.system.file_states import is_of_another_user
from irbench.system.locks import temporary_folder, waiting_for

_COMPILE = ("pip", "compile", "-", "--no-header", "--no-annotate", "--generate-hashes", "--emit-index-annotation")
_INDEX = re.compile(r"^\s*# from (\S+)$", re.MULTILINE)


def resolve(release: Release) -> str:
    """Return the requirements that install a release and what workers need, as uv writes them.

    Others come in the versions that irbench runs with, and in other versions only where the runtime needs them.

    Raises:
        irbench.environments.uv.Unsolvable: They cannot be installed together.
    """
    try:
        return _compiled(release, pinned_requirements(release.distribution))
    except Unsolvable:
        others = [requirement for name, requirement in worker_requirements().items() if name != release.distribution]
    try:
        return _compiled(release, others)
    except IrbenchError as error:
        raise said_why(release, error) from error


def said_why(release: Release, error: IrbenchError) -> IrbenchError:
    """Return what users hear where uv could not install a release."""
    if isinstance(error, Unsolvable):
        what = f"{release.distribution} {release.version} cannot be installed for Python {platform.python_version()}"
        return Unsolvable(f"{what}: {error.message}", hint=error.hint)
    return IrbenchError(f"No environment was built: {error.message}", hint=error.hint, exit_code=error.exit_code)


def indexes_of(requirements: str) -> tuple[str, ...]:
    """Return the indexes that requirements come from, without credentials, in their order."""
    return tuple(dict.fromkeys(map(_without_credentials, _INDEX.findall(requirements))))


def _compiled(release: Release, others: Sequence[str]) -> str:
    requirement = release.requirement if release.wheel is None else f"{release.distribution} @ {release.wheel.as_uri()}"
    how = ("--python", sys.executable, "--only-binary", release.distribution)
    return call_uv(*_COMPILE, *how, stdin="\n".join((requirement, *others)))


def _without_credentials(address: str) -> str:
    """Return an address without user, password, query and fragment: tokens stand in each of them."""
    parts = urlsplit(address)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


_KEY_LENGTH = 12
_ENVIRONMENTS = "environments"
_INSTALLED = "installed.txt"
"""The requirements that an environment was made of, with checksums and indexes. It was changed when the environment was
used last."""
_UNUSED_DAYS = 30
_UNUSED_S = _UNUSED_DAYS * 24 * 3600
"""After so long without use an environment is removed, whatever superseded it: which requests come again is unknown."""


@dataclass(frozen=True)
class Built:
    """An environment that irbench built.

    Attributes:
        indexes: Where its distributions come from.
    """

    python: str
    indexes: tuple[str, ...]


def build(release: Release, say: Callable[[str], None]) -> Built:
    """Return the environment of a release, built by uv unless it is there already.

    It has the Python that irbench runs in, and what workers need in the versions that irbench runs with; in others
    where the runtime needs them.
    """
    parent = bundles.home().absolute() / _ENVIRONMENTS
    try:
        folder = _kept(release) or _make_once(release, parent, say)
    except OSError as error:
        raise IrbenchError(
            f"{parent} cannot be written: {error.strerror or error}.",
            hint="Set IRBENCH_HOME to a folder that you can write.",
        ) from error
    return Built(str(folder / "bin" / "python"), indexes_of((folder / _INSTALLED).read_text(encoding="utf-8")))


def name_of(release: Release) -> str:
    """Return the beginning of the name of a release's environment.

    It is another one for another Python, other requirements, and another configuration of uv. The rest of the name
    follows from what was installed: see ``_folder``.
    """
    facts = [release.requirement, release.digest, sys.executable, platform.python_version(), digest_of_settings()]
    facts += pinned_requirements(release.distribution)
    return f"{release.distribution}-{release.version}-{_digest(json.dumps(facts))}"


def _folder(parent: Path, release: Release, requirements: str) -> Path:
    """Return where an environment is kept that has these requirements, with their checksums and indexes."""
    return parent / f"{name_of(release)}-{_digest(requirements)}"


def _kept(release: Release) -> Path | None:
    """Return the environment that is there already, without asking any index."""
    name = name_of(release)
    folders = (
        folder
        for home in bundles.homes()
        for folder in sorted((home.absolute() / _ENVIRONMENTS).glob(f"{escape(name)}-*"))
    )
    kept = next(filter(_is_whole, folders), None)
    if kept is not None:
        with contextlib.suppress(OSError):  # it may lie where nothing can be written
            os.utime(kept / _INSTALLED)
    return kept


def _is_whole(folder: Path) -> bool:
    """Whether an environment is there with its Python, which may have been removed from the system.

    Its name tells what was installed: an environment that says something else of itself is not used, nor is one of
    another user, which holds whatever that user put there.
    """
    if _is_of_another_user(folder):
        return False
    try:
        requirements = (folder / _INSTALLED).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return folder.name.endswith(f"-{_digest(requirements)}") and (folder / "bin" / "python").exists()


def _is_of_another_user(folder: Path) -> bool:
    """Whether an environment, or what leads to its code, is another user's; links count as they are."""
    parts = (folder, folder / "bin", folder / "bin" / "python", folder / _INSTALLED)
    return any(is_of_another_user(path, follow=False) for path in parts)


def _make_once(release: Release, parent: Path, say: Callable[[str], None]) -> Path:
    parent.mkdir(parents=True, exist_ok=True)
    with waiting_for(parent / f".{name_of(release)}.lock"):
        kept = _kept(release)  # another process may have built it meanwhile
        if kept is not None:
            return kept
        requirements = resolve(release)
        folder = _folder(parent, release, requirements)
        if _is_of_another_user(folder):
            raise IrbenchError(
                f"The environment {folder} belongs to another user, and nothing of it is run.",
                hint="Set IRBENCH_HOME to a folder of your own, or remove that environment.",
            )
        indexes = " and ".join(indexes_of(requirements)) or "files alone"
        say(f"building an environment with {release.distribution} {release.version} from {indexes}")
        _make(release, folder, requirements)
        _remove_unused(folder, say)
    return folder


def _remove_unused(newest: Path, say: Callable[[str], None]) -> None:
    """Remove the environments that nobody has used for long, such as those of another Python or of older packages."""
    used_s = (newest / _INSTALLED).stat().st_mtime
    with temporary_folder(newest.parent, ".removing-") as aside:
        for file in newest.parent.glob(f"*/{_INSTALLED}"):
            folder = file.parent
            with contextlib.suppress(OSError):  # another process may have removed it
                if used_s - file.stat().st_mtime > _UNUSED_S and not _is_of_another_user(folder):
                    folder.rename(aside / folder.name)
                    say(f"removing the environment {folder.name}, which was not used for {_UNUSED_DAYS} days")


def _make(release: Release, folder: Path, requirements: str) -> None:
    with temporary_folder(folder.parent, ".building-") as staging:
        environment = staging / "environment"
        call_uv("venv", "--no-project", "--relocatable", "--python", sys.executable, str(environment))
        installed = environment / _INSTALLED
        installed.write_text(requirements, encoding="utf-8")
        how = (
            "--python",
            str(environment / "bin" / "python"),
            "--only-binary",
            release.distribution,
            "--require-hashes",
        )
        try:
            call_uv("pip", "install", *how, "-r", str(installed))
        except IrbenchError as error:
            raise said_why(release, error) from error
        replace_folder(environment, folder)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_KEY_LENGTH]
