"""A cluster that is held up for other calls, and the file of targets that they join it with."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from irbench.api.progress import Say
from irbench.errors import IrbenchError
from irbench.features.fleet.dask_process import Tls
from irbench.features.fleet.progress import problem_line
from irbench.features.fleet.targets import FleetFile, SchedulerAddress, TlsFiles
from irbench.features.fleet.workers import cluster_of_own

_PRIVATE = 0o600


async def held(fleet: FleetFile, output: Path, say: Say) -> None:
    """Start a cluster and hold it until this is cancelled; the files with its address and certificates go with it.

    Raises:
        IrbenchError: No target can be reached, or a file is there already or cannot be written.
    """
    _require_free(output)
    async with cluster_of_own(fleet, lambda name, problem: say(problem_line(name, problem))) as own:
        with files_to_join(fleet, own.address, own.tls, output):
            say(f"irbench fleet run PLAN --targets {output}   measures there; Ctrl-C ends it")
            await asyncio.Event().wait()


@contextmanager
def files_to_join(fleet: FleetFile, address: str, tls: Tls, output: Path) -> Iterator[None]:
    """Have a file of targets and its certificates, which nobody else may read, lie there as long as the block lasts.

    Args:
        fleet: Whose targets the cluster has.
        address: Of its scheduler.
        tls: Its certificates.
        output: The file of targets; the others lie beside it.

    Raises:
        IrbenchError: One of them is there already, or cannot be written.
    """
    _require_free(output)
    certificate, key = _certificate_files(output)
    joined = msgspec.structs.replace(
        fleet,
        scheduler=SchedulerAddress(address=address),
        tls=TlsFiles(ca=certificate, cert=certificate, key=key),
    )
    texts = {certificate: tls.cert, key: tls.key, output: msgspec.toml.encode(joined, enc_hook=str).decode()}
    with ExitStack() as stack:
        try:
            for path, text in texts.items():
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
                stack.callback(path.unlink, missing_ok=True)
                with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                    file.write(text)
        except OSError as error:
            raise IrbenchError(
                f"{output} cannot be written: {error.strerror or error}.", hint="Name another file with -o."
            ) from error
        yield


def _certificate_files(output: Path) -> tuple[Path, Path]:
    folder = output.absolute().parent
    return folder / f"{output.stem}-cert.pem", folder / f"{output.stem}-key.pem"


def _require_free(output: Path) -> None:
    for path in (output, *_certificate_files(output)):
        if os.path.lexists(path):
            raise IrbenchError(f"{path} is there already.", hint="Remove it, or name another file with -o.")
