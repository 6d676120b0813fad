"""How this copy of irbench was installed, and the commands that install more into its environment or upgrade it."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import unquote, urlsplit

from irbench.errors import ExitCode, IrbenchError

DISTRIBUTION: Final = "irbench-onnx"
"""What installers call irbench: on the package index, ``irbench`` is another project."""

DIRECT_URL: Final = "direct_url.json"
"""Where an installer records what a distribution came from, beside its metadata (PEP 610)."""

_NAME = re.compile(r"[A-Za-z0-9._-]+")
_SOURCE: Final = Path(__file__).absolute().parents[2]

Kind: TypeAlias = Literal["editable", "folder", "repository", "archive", "index"]


@dataclass(frozen=True)
class Origin:
    """Where this copy of irbench was installed from.

    Attributes:
        kind: ``editable`` is a clone that is imported where it lies, ``folder`` one that was copied, ``archive`` a
            wheel or a source archive.
        place: The folder of a clone, or the URL of a repository as pip takes it, without a revision; otherwise empty.
        asked: The branch, tag or commit of the repository that was asked for; empty for its default branch.
        commit: The commit of the repository that is installed.
    """

    kind: Kind
    place: str = ""
    asked: str = ""
    commit: str = ""


def origin() -> Origin:
    """Return where this copy was installed from, as the installer recorded it in :data:`DIRECT_URL`."""
    from importlib import metadata

    try:
        recorded = metadata.distribution(DISTRIBUTION).read_text(DIRECT_URL)
    except metadata.PackageNotFoundError:
        return _folder(str(_SOURCE), editable=True)  # imported from a clone that was never installed
    return origin_recorded(recorded)


def origin_recorded(recorded: str | None) -> Origin:
    """Return where a distribution was installed from.

    Args:
        recorded: The content of its :data:`DIRECT_URL`; ``None`` where it came from an index.
    """
    if recorded is None:
        return Origin("index")
    try:
        about: dict[str, Any] = json.loads(recorded)
        url = str(about["url"])
        if "vcs_info" in about:
            vcs = about["vcs_info"]
            return Origin("repository", f"{vcs['vcs']}+{url}", vcs.get("requested_revision", ""), vcs["commit_id"])
        if "dir_info" in about:
            return _folder(unquote(urlsplit(url).path), editable=about["dir_info"].get("editable", False))
    except (ValueError, KeyError, TypeError, AttributeError):  # written by something else than an installer
        pass
    return Origin("archive")


def _folder(place: str, *, editable: bool) -> Origin:
    """Return a clone as an origin; where it has been removed, all that is left of it is the installed copy."""
    if not (Path(place) / "pyproject.toml").is_file():
        return Origin("archive")
    return Origin("editable" if editable else "folder", place)


def install_command(*distributions: str) -> str:
    """Return the command that installs some distributions into this environment.

    Args:
        distributions: Names as on PyPI, with extras of theirs. Versions come from irbench's extras; a name that is in
            none has no version.
    """
    versions = _versions()
    needed = (f"{name}{versions.get(_normalised(name.partition('[')[0]), '')}" for name in distributions)
    return pip_command("install", *needed)


def extra_command(extra: str) -> str:
    """Return the command that adds what an extra of irbench brings to this environment.

    It installs irbench as the clone has it now, and keeps the copy that came from a repository or an index.
    """
    installed = origin()
    match installed.kind:
        case "editable":
            return pip_command("install", "-e", f"{installed.place}[{extra}]")
        case "folder":
            return pip_command("install", f"{installed.place}[{extra}]")
        case "repository":
            return pip_command("install", f"{DISTRIBUTION}[{extra}] @ {installed.place}@{installed.commit}")
        case _:  # installers keep an installed copy that fulfils a name
            return pip_command("install", f"{DISTRIBUTION}[{extra}]")


def elsewhere_command(version: str, extra: str = "") -> str:
    """Return the command that installs irbench on another machine; empty where only this machine has its files."""
    installed = origin()
    named = f"{DISTRIBUTION}[{extra}]" if extra else DISTRIBUTION
    match installed.kind:
        case "repository" if not installed.place.startswith("git+file:"):
            return shlex.join(["pip", "install", f"{named} @ {installed.place}@{installed.commit}"])
        case "index":
            return shlex.join(["pip", "install", f"{named}=={version}"])
        case _:
            return ""


def upgrade_hint() -> str:
    """Return how to get a newer irbench, as a sentence that ends with the command."""
    installed = origin()
    match installed.kind:
        case "editable" | "folder":
            place = ["-e", installed.place] if installed.kind == "editable" else [installed.place]
            pull = shlex.join(["git", "-C", installed.place, "pull"])
            return f"Upgrade irbench: {pull} && {pip_command('install', *place)}"
        case "repository":
            at = f"@{installed.asked}" if installed.asked else ""
            # where the version is the same, pip would keep what is installed
            newest = pip_command("install", "--force-reinstall", "--no-deps", f"{DISTRIBUTION} @ {installed.place}{at}")
            return f"Upgrade irbench: {newest}"
        case "archive":
            return f"Upgrade irbench from a newer wheel: {pip_command('install', '--upgrade', 'WHEEL')}"
        case "index":
            return f"Upgrade irbench: {pip_command('install', '--upgrade', DISTRIBUTION)}"


def require_libraries(modules: Collection[str], message: str, extra: str = "") -> None:
    """Refuse where a library is missing, with the command that installs it.

    Args:
        modules: The top-level modules that are needed.
        message: What is wrong where one of them is missing.
        extra: The extra of irbench that brings them; without one, modules are called as their distributions.

    Raises:
        IrbenchError: One of them is not installed.
    """
    if any(find_spec(module) is None for module in modules):
        what = "them" if len(modules) > 1 else "it"
        command = extra_command(extra) if extra else install_command(*modules)
        raise IrbenchError(message, hint=f"Install {what} with: {command}", exit_code=ExitCode.NOT_INSTALLED)


def pip_command(verb: str, *arguments: str) -> str:
    """Return a command of pip for this environment; short where a shell finds the ``pip`` of this environment."""
    found = shutil.which("pip")
    if found is not None and Path(found).parent == Path(sys.executable).parent:
        return shlex.join(["pip", verb, *arguments])
    return pip_command_of(sys.executable, verb, *arguments, has_pip=find_spec("pip") is not None)


def pip_command_of(python: str, verb: str, *arguments: str, has_pip: bool) -> str:
    """Return a command of pip for the environment of an interpreter; uv does it where that has no pip."""
    python = shlex.quote(python)
    tool = f"{python} -m pip {verb}" if has_pip else f"uv pip {verb} --python {python}"
    return f"{tool} {shlex.join(arguments)}"


def _versions() -> Mapping[str, str]:
    """Return the version specifiers of irbench's requirements, by distribution."""
    from importlib import metadata

    try:
        requirements = metadata.requires(DISTRIBUTION) or ()
    except metadata.PackageNotFoundError:
        return {}
    versions: dict[str, str] = {}
    for requirement in requirements:
        specifier = requirement.partition(";")[0].strip()
        name = _NAME.match(specifier)
        if name is not None and not specifier[name.end() :].startswith("["):
            versions.setdefault(_normalised(name[0]), specifier[name.end() :].replace(" ", ""))
    return versions


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
