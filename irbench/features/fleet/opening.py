"""The cluster of a fleet: one that is started for a call, or one that runs already."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from irbench.errors import IrbenchError
from irbench.features.fleet.cluster import Cluster, joined
from irbench.features.fleet.cluster_process import Tls
from irbench.features.fleet.supervision import Listener, cluster_of_own
from irbench.features.fleet.targets import FleetFile, Target

_WORKERS_S = 30


@asynccontextmanager
async def opened(fleet: FleetFile, listener: Listener | None) -> AsyncIterator[Cluster]:
    """Yield the cluster that a fleet asks for; one that is started, which takes a listener, ends with the block.

    Raises:
        IrbenchError: It cannot be reached, or no target can be used.
    """
    if fleet.scheduler.address:
        files = fleet.tls
        tls = None if files is None else Tls(str(files.ca), str(files.cert), str(files.key))
        async with joined(fleet.scheduler.address, tls) as cluster:
            yield cluster
    else:
        assert listener is not None
        async with cluster_of_own(fleet, listener) as running:
            yield running.cluster


async def with_targets(fleet: FleetFile, cluster: Cluster) -> FleetFile:
    """Return a fleet whose targets are the workers of a cluster that measure, where its file names none.

    Raises:
        IrbenchError: No worker measures.
    """
    if fleet.targets:
        return fleet
    for _ in range(_WORKERS_S):
        names = sorted({member.name for member in (await cluster.members()).values() if member.measures})
        if names:
            return msgspec.structs.replace(fleet, targets=tuple(Target(name=name) for name in names))
        await asyncio.sleep(1)
    raise IrbenchError(
        "No worker of the cluster measures.", hint="Start some: dask worker ADDRESS --nthreads 1 --resources measure=1"
    )
