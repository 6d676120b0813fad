"""What will be installed: each distribution with its version, its checksums and the index that offers it."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Sequence
from urllib.parse import urlsplit, urlunsplit

from irbench.environments.needs import pinned_requirements, worker_requirements
from irbench.environments.sources import Release
from irbench.environments.uv import Unsolvable, call_uv
from irbench.errors import IrbenchError

_COMPILE = ("pip", "compile", "-", "--no-header", "--no-annotate", "--generate-hashes", "--emit-index-annotation")
_INDEX = re.compile(r"^\s*# from (\S+)$", re.MULTILINE)


def resolve(release: Release) -> str:
    """Return the requirements that install a release and what workers need, as uv writes them.

    Others come in the versions that irbench runs with, and in other versions only where the runtime needs them.

    Raises:
        irbench.environments.uv.Unsolvable: They cannot be installed together.
        IrbenchError: uv failed.
    """
    try:
        return _compiled(release, pinned_requirements(release.distribution))
    except Unsolvable:
        others = [wanted for name, wanted in worker_requirements().items() if name != release.distribution]
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
    wanted = release.requirement if release.wheel is None else f"{release.distribution} @ {release.wheel.as_uri()}"
    how = ("--python", sys.executable, "--only-binary", release.distribution)
    return call_uv(*_COMPILE, *how, stdin="\n".join((wanted, *others)))


def _without_credentials(address: str) -> str:
    """Return an address without user, password, query and fragment: tokens stand in each of them."""
    parts = urlsplit(address)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
