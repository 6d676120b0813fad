"""What a search tries besides fp32 where a limit for accuracy says what is good enough."""

from __future__ import annotations

from dataclasses import replace

from irbench import registry
from irbench.address import BackendAddress
from irbench.api import probes
from irbench.api.accuracy_limits import accuracy_limit
from irbench.optimizer import UNOPTIMIZED
from irbench.options.commands import TuneOptions
from irbench.options.run import RunOptions
from irbench.spec import Bundle

_NARROW = ("bf16", "fp16")
_LEVELS = (UNOPTIMIZED, "extended", "int8")
_WIDE = ("", "fp32")


def with_narrow_precisions(options: TuneOptions, run: RunOptions, bundle: Bundle) -> TuneOptions:
    """Return the options of a search, in which a limit has what is faster and less precise be tried, too.

    A precision and a level that the user gave stay as they are, and so does a model that is not in fp32.

    Args:
        options: What is searched.
        run: What is asked of every row, with its backends.
        bundle: The model.
    """
    graph = bundle.artifact(("onnx",))
    if accuracy_limit(run) is None or (graph is not None and graph.precision not in _WIDE):
        return replace(options, run=run)
    precision = run.precision or ("fp32", *_computed(run))
    levels = options.optimize or (_LEVELS if _reads_onnx(run) else None)
    return replace(options, run=replace(run, precision=precision), optimize=levels)


def _computed(run: RunOptions) -> tuple[str, ...]:
    """Return the narrow precisions that a backend computes in on this machine."""
    found: dict[str, None] = {}
    for address in map(BackendAddress.parse, run.backends or ()):
        description = registry.describe(registry.BACKENDS, address.name)
        known = probes.remembered(description) or probes.probe(description)
        found |= dict.fromkeys(known.precisions.get(address.device, ()))
    return tuple(name for name in _NARROW if name in found)


def _reads_onnx(run: RunOptions) -> bool:
    """Whether a backend runs graphs that can be converted."""
    return any("onnx" in registry.backend(BackendAddress.parse(name).name).consumes for name in run.backends or ())
