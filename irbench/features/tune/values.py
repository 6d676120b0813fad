"""The values of each axis that a search tries: those that the user gave, else the usual ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from irbench.core import registry
from irbench.core.address import BackendAddress
from irbench.errors import IrbenchError
from irbench.features.tune.options import TuneOptions
from irbench.features.tune.space import usual_values
from irbench.optimizer import UNOPTIMIZED
from irbench.options.run import RunOptions
from irbench.options.values import AS_IT_IS, alternatives
from irbench.runner.requested_cells import is_at_level
from irbench.spec import Cell

_USUAL_LEVELS = (UNOPTIMIZED, "extended")
_NATIVE: Literal["native"] = "native"


@dataclass(frozen=True)
class SearchedValues:
    """The values that are tried.

    Attributes:
        batch: ``None`` where the model has one batch only.
        streams: Inferences in flight in each process.
        instances: Processes.
        threads: Of each process.
        optimize: Levels of optimisation.
        processors: How many all processes together may use.
        varied: Sets of options by backend; one that is not there has none.
    """

    batch: tuple[int, ...] | None
    streams: tuple[int, ...]
    instances: tuple[int, ...]
    threads: tuple[int | Literal["native"], ...]
    optimize: tuple[str, ...]
    processors: int
    varied: Mapping[str, Sequence[Mapping[str, str]]]

    def has(self, cell: Cell) -> bool:
        """Whether a row is searched: its values are among these, and its threads do not wait for each other."""
        load = cell.load
        return (
            load.streams in self.streams
            and load.instances in self.instances
            and (load.threads or _NATIVE) in self.threads
            and any(is_at_level(cell, asked) for asked in self.optimize)
            and load.varied in self.varied.get(cell.backend, ({},))
            and load.instances * (load.threads or 1) <= self.processors
        )


def searched_values(
    options: TuneOptions, run: RunOptions, processors: int, *, has_batches: bool, reads_onnx: bool
) -> SearchedValues:
    """Return what is tried.

    Args:
        options: What the user gave.
        run: The same for every row, its backends named.
        processors: How many may be used at a time.
        has_batches: Whether the model can be run with several batch sizes.
        reads_onnx: Whether a backend reads ONNX, so that there are graphs to optimise.

    Raises:
        IrbenchError: Batches would be compared that are fed other samples.
    """
    usual = usual_values(options.objective, processors)
    if run.data is not None and len(run.batch or ()) > 1:
        raise IrbenchError(
            "Batches of --data are different inputs, which cannot be compared.",
            hint="Give one --batch, or leave --data out.",
        )
    return SearchedValues(
        batch=run.batch or (usual.batch if has_batches and run.data is None else None),
        streams=options.streams or usual.streams,
        instances=options.instances or usual.instances,
        threads=run.threads or usual.threads,
        optimize=options.optimize or (_USUAL_LEVELS if reads_onnx else (UNOPTIMIZED,)),
        processors=processors,
        varied=alternatives({**_tunable(run), **run.vary}),
    )


def simplest(run: RunOptions, tried: SearchedValues) -> RunOptions:
    """Return options that ask for each backend as it runs without any option, with the smallest batch."""
    return replace(
        run,
        batch=None if tried.batch is None else (min(tried.batch),),
        streams=(1,),
        instances=(1,),
        threads=(_NATIVE,),
        optimize=(UNOPTIMIZED,),
        precision=run.precision and run.precision[:1],
        vary={},
    )


def every_combination(options: TuneOptions, run: RunOptions, tried: SearchedValues) -> RunOptions:
    """Return options that ask for every combination of what is tried, and for each backend without any option."""
    return replace(
        run,
        batch=tried.batch,
        streams=tuple(dict.fromkeys((1, *tried.streams))),
        instances=tuple(dict.fromkeys((1, *tried.instances))),
        threads=tuple(dict.fromkeys((*tried.threads, _NATIVE))),
        optimize=tuple(dict.fromkeys((UNOPTIMIZED, *tried.optimize))),
        objective=options.objective,
        max_latency=options.max_latency,
        vary={**_tunable(run), **run.vary},
    )


def _tunable(run: RunOptions) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the options of each backend that are worth trying, as far as the user has not set or varied any."""
    names = dict.fromkeys(BackendAddress.parse(backend).name for backend in run.backends or ())
    found = {name: registry.describe(registry.BACKENDS, name).tunable for name in names if name not in run.vary}
    return {
        name: {key: (AS_IT_IS, *values) for key, values in options.items() if key not in run.set.get(name, {})}
        for name, options in found.items()
        if options
    }
