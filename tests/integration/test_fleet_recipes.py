"""The recipes for Slurm and Kubernetes make workers that measure, each alone on its machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"

pytestmark = pytest.mark.ci


def printed(script: str, *arguments: str) -> str:
    """Return what an example prints."""
    words = [sys.executable, "-W", "ignore", EXAMPLES / script, *arguments]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def test_a_job_of_slurm_has_a_node_of_its_own_and_a_worker_that_measures():
    pytest.importorskip("dask_jobqueue", reason="needs dask-jobqueue")
    script = printed("fleet_slurm.py").splitlines()
    assert "#SBATCH --exclusive" in script
    assert "#SBATCH --cpus-per-task=16" in script
    (worker,) = (line.split() for line in script if "dask_worker" in line)
    assert worker[worker.index("--resources") + 1] == "measure=1"
    assert worker[worker.index("--nthreads") + 1] == "1"


def test_a_worker_of_kubernetes_is_alone_on_its_node_with_processors_of_its_own():
    pytest.importorskip("dask_kubernetes", reason="needs dask-kubernetes")
    worker = json.loads(printed("fleet_kubernetes.py", "image:1", "4"))["spec"]["worker"]
    (container,) = worker["spec"]["containers"]
    assert worker["replicas"] == 4
    assert container["args"][container["args"].index("--resources") + 1] == "measure=1"
    assert container["resources"]["requests"] == container["resources"]["limits"]
    (rule,) = worker["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert rule["labelSelector"]["matchLabels"] == worker["metadata"]["labels"]
