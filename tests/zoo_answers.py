"""What a backend answers to a model of the zoo, asked in a worker."""

from __future__ import annotations

from pathlib import Path

from irbench.core import registry
from irbench.core.feeds import generate, lay_out
from irbench.onnx.rewriting.bind import bind
from irbench.spec import Load
from irbench.spi import Array
from irbench.store import bundles
from irbench.worker.inference import OpenSession


def zoo_answer(name: str, folder: Path, load: Load, scratch: Path) -> tuple[list[Array], str]:
    """Return what a backend answers to a bundle's own inputs, and the precision it computed in."""
    bundle = bundles.load(folder)
    backend = registry.backend(name)
    kept = bundle.artifact(backend.consumes)
    assert kept is not None
    sizes = {**bundle.defaults, "batch": load.batch}
    artifact = bind(kept, sizes, scratch)
    with OpenSession(backend, artifact, load) as session:
        answer = session.answer(lay_out(generate(bundle.inputs, sizes, bundle.seed), artifact))
        return list(answer), str(session.effective["precision"])
