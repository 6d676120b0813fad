"""Print a cluster of Dask for Kubernetes whose workers measure: ``python fleet_kubernetes.py IMAGE 4``.

Give it to ``kubectl apply -f -``. Needs ``pip install dask-kubernetes`` here, its operator in Kubernetes, and irbench
with its extra fleet in the image. Then, from a pod beside it: ``irbench fleet run plan.toml --scheduler
tcp://irbench-scheduler:8786``.
"""

import json
import sys

from dask_kubernetes.operator import make_cluster_spec

_LABELS = {"irbench": "worker"}


def manifest(image, workers):
    """Return the cluster: each worker alone on its node, with processors that are its own."""
    spec = make_cluster_spec(
        name="irbench",
        image=image,
        n_workers=workers,
        worker_command=["dask", "worker", "--nthreads", "1", "--resources", "measure=1"],
        resources={"requests": {"cpu": "8", "memory": "16Gi"}, "limits": {"cpu": "8", "memory": "16Gi"}},
    )
    worker = spec["spec"]["worker"]
    worker["metadata"] = {"labels": _LABELS}
    worker["spec"]["affinity"] = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": _LABELS}, "topologyKey": "kubernetes.io/hostname"}
            ]
        }
    }
    return spec


def main():
    """Print it as JSON, which kubectl reads."""
    image, workers = sys.argv[1:3]
    print(json.dumps(manifest(image, int(workers)), indent=2))  # noqa: T201


if __name__ == "__main__":
    main()
