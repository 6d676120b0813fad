"""Expected outputs from a reference backend, computed in a worker."""

from __future__ import annotations

from collections.abc import Mapping

from irbench import registry
from irbench.feeds import generate, lay_out
from irbench.measure.phases import PhaseLog
from irbench.spec import Artifact, Bundle, Load
from irbench.spi import Array

__all__ = ["answer"]


def answer(name: str, artifact: Artifact, bundle: Bundle, sizes: Mapping[str, int], seed: int) -> tuple[Array, ...]:
    """Return what the reference backend ``name`` answers to the seeded inputs, in the order of ``artifact.outputs``."""
    backend = registry.reference(name)
    load = Load(batch=sizes["batch"], threads=None, precision="native")
    feed = lay_out(generate(bundle.inputs, sizes, seed), artifact)
    backend.import_runtime(load, "cpu")
    session = backend.compile(artifact, load, "cpu", PhaseLog())
    try:
        (slot,) = session.open_slots(1, "copy")
        slot.stage(feed)
        slot.run()
        return tuple(slot.fetch())
    finally:
        session.close()
