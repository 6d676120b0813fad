"""The command that installs what is missing, with the versions that irbench's own metadata asks for."""

from __future__ import annotations

import re
import shlex
from importlib import metadata

_NAME = re.compile(r"[A-Za-z0-9._-]+")


def install_command(*distributions: str) -> str:
    """Return the command that installs some distributions.

    Args:
        distributions: Names as on PyPI. Versions come from irbench's extras; a name that is in none has no version.
    """
    versions = _versions()
    wanted = (f"{name}{versions.get(_normalised(name), '')}" for name in distributions)
    return f"pip install {shlex.join(wanted)}"


def _versions() -> dict[str, str]:
    """Return the version specifiers of irbench's requirements, by distribution."""
    try:
        requirements = metadata.requires("irbench") or ()
    except metadata.PackageNotFoundError:
        return {}
    found: dict[str, str] = {}
    for requirement in requirements:
        wanted = requirement.partition(";")[0].strip()
        name = _NAME.match(wanted)
        if name is not None and not wanted[name.end() :].startswith("["):
            found.setdefault(_normalised(name[0]), wanted[name.end() :].replace(" ", ""))
    return found


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
