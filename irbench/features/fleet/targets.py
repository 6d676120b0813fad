"""The machines of a fleet: a file in TOML, read and checked."""

from __future__ import annotations

import os
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from irbench.errors import IrbenchError
from irbench.system.document_damage import damage_text
from irbench.system.file_access import read_regular
from irbench.system.prepared_types import prepared

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_MOST_BYTES = 1 << 20
_SSH_PORT = 22
THIS_MACHINE = "this-machine"
"""The name of the target that stands for a file."""

S = TypeVar("S", bound="Target | TlsFiles")


class Target(msgspec.Struct, frozen=True, rename="kebab", forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A machine that measures.

    Attributes:
        host: Where it is reached over ssh, with the user before an @ if it is another; empty for this machine.
        identity: File of the private key; ``None`` for what ssh would use.
        known_hosts: File of the host keys that are accepted; ``None`` for that of the user.
        python: The Python there, which has irbench; empty for ``python3``, on this machine for the one that runs.
        pool: Machines of one pool are alike and share the tables of a plan; empty for one that measures all of them.
        price_per_hour: In the currency of the reader; ``None`` where it is unknown.
        variables: Environment variables of everything that runs there, ``IRBENCH_HOME`` for example.
    """

    name: str
    host: str = ""
    port: int = _SSH_PORT
    identity: Path | None = None
    known_hosts: Path | None = None
    python: str = ""
    pool: str = ""
    price_per_hour: float | None = None
    variables: Mapping[str, str] = {}

    @property
    def shares(self) -> str:
        """The name of its pool; its own where it measures every table."""
        return self.pool or self.name


class TlsFiles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The certificates of a cluster that runs already."""

    ca: Path
    cert: Path
    key: Path


class SchedulerAddress(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where the scheduler is.

    Attributes:
        address: Of one that runs, ``tls://10.0.0.1:8786``; empty where one is started on this machine.
        host: The address at which targets reach this machine; empty where it is looked up.
        port: On which it is reached; 0 for any that is free.
    """

    address: str = ""
    host: str = ""
    port: int = 0


class FleetFile(msgspec.Struct, frozen=True, rename="kebab", forbid_unknown_fields=True, omit_defaults=True):
    """What a file of targets says.

    Attributes:
        targets: At least one; empty where a cluster that runs already has them.
        requires: Versions that each target must have, by distribution, as pip writes them: ``==1.23.*``.
        same_machine: Whether several targets may be one machine, to try a fleet out.
        trusted: Whether every target may run code on this machine.
    """

    targets: tuple[Target, ...] = ()
    requires: Mapping[str, str] = {}
    scheduler: SchedulerAddress = SchedulerAddress()
    tls: TlsFiles | None = None
    same_machine: bool = False
    trusted: bool = False


def this_machine() -> FleetFile:
    """Return the fleet that a call without a file means: this machine alone."""
    return FleetFile((Target(name=THIS_MACHINE),))


def read_targets(path: Path) -> FleetFile:
    """Return the fleet in a file; paths in it are relative to its folder.

    Raises:
        IrbenchError: It cannot be read, or something in it is wrong.
    """
    try:
        values = tomllib.loads(read_regular(path, _MOST_BYTES).decode())
        fleet = msgspec.convert(values, prepared(FleetFile), dec_hook=_path)
    except OSError as error:
        raise IrbenchError(f"{path} cannot be read: {error.strerror or error}.", hint="Check the path.") from error
    except (msgspec.ValidationError, ValueError, RecursionError) as error:
        raise _wrong(path, damage_text(error)) from error
    problem = next(_problems(fleet), None)
    if problem is not None:
        raise _wrong(path, problem)
    folder = path.absolute().parent
    targets = tuple(_absolute(target, folder, "identity", "known_hosts") for target in fleet.targets)
    tls = None if fleet.tls is None else _absolute(fleet.tls, folder, "ca", "cert", "key")
    return msgspec.structs.replace(fleet, targets=targets, tls=tls)


def _wrong(path: Path, problem: str) -> IrbenchError:
    return IrbenchError(f"{path} is not a valid list of targets: {problem}.", hint="docs/fleet.md has all keys.")


def _path(kind: type, value: Any) -> Any:
    if kind is Path and isinstance(value, str):
        return Path(value)
    raise NotImplementedError(kind)


def _absolute(holder: S, folder: Path, *fields: str) -> S:
    paths = {name: getattr(holder, name) for name in fields}
    return msgspec.structs.replace(
        holder,
        **{
            name: Path(os.path.normpath(folder / path.expanduser())) for name, path in paths.items() if path is not None
        },
    )


def _problems(fleet: FleetFile) -> Iterator[str]:
    if not (fleet.targets or fleet.scheduler.address):
        yield "it has no [[targets]]"
    for target in fleet.targets:
        if _NAME.fullmatch(target.name) is None:
            yield f"the name {target.name!r} may have letters, digits, and . _ - between them"
        if target.host.startswith("-"):
            yield f"{target.host!r} is not a host"
        if target.price_per_hour is not None and not 0 <= target.price_per_hour < 1e6:
            yield f"the price of {target.name} is {target.price_per_hour}"
    twice = [name for name, count in Counter(target.name for target in fleet.targets).items() if count > 1]
    if twice:
        yield f"two targets are called {twice[0]}"
    reached = Counter((target.host, target.port) for target in fleet.targets)
    again = [host for (host, _), count in reached.items() if count > 1]
    if again and not fleet.same_machine:
        yield f"two targets are on {again[0] or 'this machine'}. Write same-machine = true above [[targets]] to try it"
    hosts = {bool(target.host) for target in fleet.targets}
    if len(hosts) > 1 and not (fleet.trusted or fleet.scheduler.address):
        yield (
            "this machine is listed with other targets, which could then run code on it. "
            "If you trust them with this account, write trusted = true above [[targets]]"
        )
    pools = {target.pool for target in fleet.targets if target.pool}
    if taken := pools & {target.name for target in fleet.targets}:
        yield f"{min(taken)} is the name of a target and of a pool"
    yield from (
        f"{name}: {text!r} is not a version specifier, such as ==1.23.*" for name, text in _odd_versions(fleet.requires)
    )


def _odd_versions(requires: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    for name, text in requires.items():
        try:
            SpecifierSet(text)
        except InvalidSpecifier:
            yield name, text
