"""The recipes for Slurm and Kubernetes make workers that measure, each alone on its machine.

What they need besides is installed into an environment of its own, beside the locked Dask: dask-kubernetes alone brings
25 distributions, which nothing else needs.
"""

from __future__ import annotations

import json
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

pytest.importorskip("uv", reason="needs uv")
from uv import find_uv_bin

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
JOBQUEUE, KUBERNETES = "dask-jobqueue==0.9.0", "dask-kubernetes==2026.3.0"

pytestmark = pytest.mark.slow


def printed(needed: str, script: str, *arguments: str) -> str:
    """Return what an example prints in an environment with what it needs; skip the test where nothing is downloaded."""
    uv = (find_uv_bin(), "run", "-q", "--no-project", "--with", needed)
    dask = [word for name in ("dask", "distributed") for word in ("--with", f"{name}=={metadata.version(name)}")]
    environment = [*uv, *dask, "python", "-W", "ignore"]
    if subprocess.run([*environment, "-c", ""], capture_output=True, check=False).returncode:
        pytest.skip(f"{needed} cannot be installed, for example offline")
    words = [*environment, str(EXAMPLES / script), *arguments]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def test_a_job_of_slurm_has_a_node_of_its_own_and_a_worker_that_measures():
    script = printed(JOBQUEUE, "fleet_slurm.py").splitlines()
    assert "#SBATCH --exclusive" in script
    assert "#SBATCH --cpus-per-task=16" in script
    (worker,) = (line.split() for line in script if "dask_worker" in line)
    assert worker[worker.index("--resources") + 1] == "measure=1"
    assert worker[worker.index("--nthreads") + 1] == "1"


def test_a_worker_of_kubernetes_is_alone_on_its_node_with_processors_of_its_own():
    worker = json.loads(printed(KUBERNETES, "fleet_kubernetes.py", "image:1", "4"))["spec"]["worker"]
    (container,) = worker["spec"]["containers"]
    assert worker["replicas"] == 4
    assert container["args"][container["args"].index("--resources") + 1] == "measure=1"
    assert container["resources"]["requests"] == container["resources"]["limits"]
    (rule,) = worker["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert rule["labelSelector"]["matchLabels"] == worker["metadata"]["labels"]
