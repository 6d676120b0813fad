"""Bundles of a few bytes, put into the cache or elsewhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from irbench.spec import Artifact, Bundle, InputSpec, TensorSpec
from irbench.store import bundles

IMAGE = TensorSpec("image", "float32", ("batch", 8, 8, 3))
SCORES = TensorSpec("scores", "float32", ("batch", 5))


def make_bundle(name: str = "net") -> Bundle:
    onnx_image = TensorSpec("image", "float32", ("batch", 3, 8, 8), (0, 3, 1, 2))
    return Bundle(
        name=name,
        inputs=(InputSpec(IMAGE, -1.0, 1.0),),
        artifacts=(
            Artifact("onnx", Path("model.onnx"), (onnx_image,), (SCORES,), sha256="", opset=18),
            Artifact("tf-graph", Path("graph.pb"), (IMAGE,), (SCORES,)),
        ),
        defaults={"sequence": 7},
        classifier=True,
        seed=3,
        reference=Path("reference.npz"),
        source="net.keras",
        versions={"onnx": "1"},
        details={"nodes": 12, "max_rel_error": 1e-6, "layout": "nchw", "problem": None},
    )


def put(name: str = "net", key: str = "a" * 64, content: bytes = b"onnx", target: Path | None = None) -> Path:
    with bundles.staging(target) as folder:
        (folder / "model.onnx").write_bytes(content)
        np.savez(folder / "reference.npz", np.arange(8.0), np.ones((8, 2), np.int32))
        (folder / "graph.pb").write_bytes(b"graph")
        checksums = {path.name: bundles.digest(path) for path in sorted(folder.iterdir())}
        card = bundles.Card(make_bundle(name), key, "2026-01-01T00:00:00+00:00", checksums)
        return bundles.install(folder, card, target)
