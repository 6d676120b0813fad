"""Measure a plan on the nodes of a Slurm cluster: ``python fleet_slurm.py plan.toml 4``.

Needs, in a clone of irbench, ``pip install '.[fleet]' dask-jobqueue`` with a Python that the nodes see, too. Each job
of Slurm has a node of its own and one worker. ``python fleet_slurm.py`` prints the script of a job.
"""

import subprocess
import sys

from dask_jobqueue import SLURMCluster


def cluster():
    """Return a cluster whose workers measure; it has none yet."""
    return SLURMCluster(
        queue="bench",
        walltime="08:00:00",
        cores=1,  # threads of a worker: it measures one table at a time
        processes=1,
        job_cpu=16,  # what is measured gets them all
        memory="60GB",
        worker_extra_args=["--resources", "measure=1"],
        job_extra_directives=["--exclusive"],
        scheduler_options={"dashboard": False},
        shared_temp_directory="~/.irbench-fleet",  # of the certificates
        security=None,  # Security.temporary(), where the network is not yours alone
        python=sys.executable,
    )


def main():
    """Print the script of a job, or measure a plan on some nodes."""
    with cluster() as slurm:
        if len(sys.argv) < 3:
            print(slurm.job_script())  # noqa: T201
            return
        plan, nodes = sys.argv[1:3]
        slurm.scale(int(nodes))
        slurm.wait_for_workers(int(nodes))  # those that come later do not measure
        subprocess.run(["irbench", "fleet", "run", plan, "--scheduler", slurm.scheduler_address], check=True)  # noqa: S607


if __name__ == "__main__":
    main()
