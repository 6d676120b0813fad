"""A cluster of Dask as a user starts one, in a process of its own: ``python tests/dask_cluster.py WORKERS``."""

from __future__ import annotations

import sys


def main() -> None:
    """Print the address of the scheduler, and end with standard input."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=int(sys.argv[1]),
        threads_per_worker=1,
        resources={"measure": 1},
        dashboard_address=None,
        memory_limit=0,
    ) as cluster:
        print(cluster.scheduler_address, flush=True)  # noqa: T201 - the answer
        sys.stdin.read()


if __name__ == "__main__":
    main()
