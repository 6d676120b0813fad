"""Expected outputs from a reference backend, computed in a worker."""

from __future__ import annotations

from collections.abc import Mapping

from irbench import registry
from irbench.feeds import lay_out, logical_inputs
from irbench.spec import Artifact, Bundle, Feeding, Load
from irbench.spi import Array
from irbench.worker.inference import OpenSession

__all__ = ["answer"]


def answer(
    name: str, artifact: Artifact, bundle: Bundle, sizes: Mapping[str, int], feeding: Feeding
) -> tuple[Array, ...]:
    """Return what the reference backend ``name`` answers to the first feed, in the order of ``artifact.outputs``."""
    backend = registry.reference(name)
    load = Load(batch=sizes["batch"], threads=None, precision="native")
    feed = lay_out(logical_inputs(bundle.inputs, sizes, feeding), artifact)
    with OpenSession(backend, artifact, load) as session:
        return session.answer(feed)
