"""A cluster that is held up for other calls, and the file of targets that they join it with."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import tomli_w

from irbench.api.progress import Say
from irbench.errors import IrbenchError
from irbench.features.fleet.supervision import OwnCluster, cluster_of_own
from irbench.features.fleet.targets import FleetFile, SchedulerAddress, TlsFiles

_PRIVATE = 0o600


class _Spoken:
    def __init__(self, say: Say) -> None:
        self.unreachable: dict[str, str] = {}
        self.notice = say

    def refuse(self, name: str, problem: str) -> None:
        self.notice(f"{name}: {problem}")


async def held(fleet: FleetFile, output: Path, say: Say) -> None:
    """Start a cluster and hold it until this is cancelled; the files with its address and certificates go with it.

    Raises:
        IrbenchError: No target can be reached, or a file cannot be written.
    """
    if output.exists():
        raise IrbenchError(f"{output} is there already.", hint="Remove it, or name another file with -o.")
    async with cluster_of_own(fleet, _Spoken(say)) as own:
        try:
            files = _written(fleet, own, output)
        except OSError as error:
            raise IrbenchError(
                f"{output} cannot be written: {error.strerror or error}.", hint="Name another file with -o."
            ) from error
        try:
            say(f"irbench fleet run PLAN --targets {output}   measures there; Ctrl-C ends it")
            await asyncio.Event().wait()
        finally:
            for path in files:
                with contextlib.suppress(OSError):
                    path.unlink()


def _written(fleet: FleetFile, own: OwnCluster, output: Path) -> tuple[Path, ...]:
    """Write the file of targets and its certificates, which nobody else may read, and return them."""
    folder = output.absolute().parent
    certificate, key = (folder / f"{output.stem}-{part}.pem" for part in ("cert", "key"))
    joined = msgspec.structs.replace(
        fleet,
        scheduler=SchedulerAddress(address=own.address),
        tls=TlsFiles(ca=certificate, cert=certificate, key=key),
    )
    for path, text in ((certificate, own.tls.cert), (key, own.tls.key), (output, tomli_w.dumps(_plain(joined)))):
        if path != output:
            path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE), "w", encoding="utf-8") as file:
            file.write(text)
    return (output, certificate, key)


def _plain(fleet: FleetFile) -> dict[str, Any]:
    """Return a fleet as TOML has it, which knows no null."""

    def without_null(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: without_null(inner) for key, inner in value.items() if inner is not None}
        return [without_null(inner) for inner in value] if isinstance(value, list | tuple) else value

    plain: dict[str, Any] = without_null(msgspec.to_builtins(fleet, enc_hook=str))
    return plain
