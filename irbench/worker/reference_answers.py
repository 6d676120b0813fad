"""Expected outputs from a reference backend, computed in a worker."""

from __future__ import annotations

from collections.abc import Mapping

from irbench.core import registry
from irbench.errors import IrbenchError
from irbench.spec import Artifact, Bundle, Feeding, Load
from irbench.spi import Array
from irbench.system import host
from irbench.worker.feed_turns import BrokenLoop, require_loop, turns_of_streams
from irbench.worker.inference import OpenSession

_MEMORY_SHARE = 4
"""Of the available memory, the part that expected outputs of several samples may need."""


def answers(
    name: str,
    artifact: Artifact,
    bundle: Bundle,
    sizes: Mapping[str, int],
    feeding: Feeding,
    group: str = registry.REFERENCES,
) -> tuple[tuple[Array, ...], ...]:
    """Return what the reference backend ``name`` answers to each sample, in the order of ``artifact.outputs``.

    Of a decode loop these are its first steps, with the reference's own outputs fed back. ``group`` is that of the
    entry point: :data:`irbench.core.registry.BACKENDS` for the framework that a model comes from.
    """
    backend = registry.backend(name) if group == registry.BACKENDS else registry.reference(name)
    load = Load(batch=sizes["batch"], threads=None, precision="native")
    answers: list[tuple[Array, ...]] = []
    left_bytes = host.available_memory_bytes() // _MEMORY_SHARE
    (turns,) = turns_of_streams(bundle, sizes, feeding, artifact, streams=1)
    with OpenSession(backend, artifact, load) as session:
        while len(answers) < feeding.checked_calls:
            feed = turns.next()
            answers.append(session.answer(feed))
            left_bytes -= sum(array.nbytes for array in answers[-1] if not isinstance(array, list))
            _require_room(left_bytes, feeding)
            require_loop(bundle, feeding, artifact, feed, answers[-1])
            turns.take(answers[-1])
    return tuple(answers)


def answers_and_broken_loop(
    name: str,
    artifact: Artifact,
    bundle: Bundle,
    sizes: Mapping[str, int],
    feeding: Feeding,
    group: str = registry.REFERENCES,
) -> tuple[tuple[tuple[Array, ...], ...], tuple[str, str] | None]:
    """Do as :func:`answers`; of a loop that no backend can run the message and the hint are returned as well.

    Of exceptions that reach the coordinator the class is lost.
    """
    try:
        return answers(name, artifact, bundle, sizes, feeding, group), None
    except BrokenLoop as broken:
        return (), (broken.message, broken.hint)


def _require_room(left_bytes: int, feeding: Feeding) -> None:
    if left_bytes < 0 and feeding.count > 1:
        raise IrbenchError(
            f"The expected outputs of {feeding.count} samples need more memory than is available.",
            hint="Give fewer samples.",
        )
