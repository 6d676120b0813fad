"""Finding the parts (backends, references, models, exporters, passes, quantizers) by entry point.

Listing names reads package metadata alone, but for models: a function yields those of a distribution, without their
frameworks. An object is loaded when it is asked for, and a plugin that cannot be loaded or described is a warning that
names its distribution, never the end.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, cast

from irbench.core.address import BackendAddress
from irbench.core.suggestions import did_you_mean, nearest
from irbench.errors import ExitCode, IrbenchError
from irbench.spec import Artifact, Load
from irbench.spi import (
    Availability,
    Backend,
    Description,
    Exporter,
    ExporterDescription,
    ModelSource,
    Pass,
    Quantizer,
    StreamAdvisor,
    TrainingBackend,
)

BACKENDS = "irbench.backends"
REFERENCES = "irbench.references"
MODELS = "irbench.models"
EXPORTERS = "irbench.exporters"
PASSES = "irbench.passes"
QUANTIZERS = "irbench.quantizers"

_MOST_NAMED = 12
"""Models that a hint names; where there are more it says what lists them."""

_NOUNS = {
    BACKENDS: "backend",
    REFERENCES: "reference",
    MODELS: "model",
    EXPORTERS: "exporter",
    PASSES: "pass",
    QUANTIZERS: "quantizer",
}


_GPUS = ("cuda", "gpu")
"""What backends call an NVIDIA GPU."""


class PluginWarning(UserWarning):
    """A plugin could not be loaded, or could not describe itself, and was left out."""


def names(group: str) -> tuple[str, ...]:
    """Return the names registered under an entry-point group, sorted; loads nothing but what describes models."""
    return tuple(sorted(_models() if group == MODELS else _points(group)))


def backend(name: str) -> Backend:
    """Load one backend."""
    return cast("Backend", _load(BACKENDS, name))


def reference(name: str) -> Backend:
    """Load a backend whose answers may be trusted; raises as :func:`backend` does."""
    return cast("Backend", _load(REFERENCES, name))


def model(name: str) -> ModelSource:
    """Load one model of the zoo; raises as :func:`backend` does."""
    return _model(name)[0]


def exporter(name: str) -> Exporter:
    """Load one exporter; raises as :func:`backend` does."""
    return cast("Exporter", _load(EXPORTERS, name))


def graph_pass(name: str) -> Pass:
    """Load one pass of the optimiser; raises as :func:`backend` does."""
    return cast("Pass", _load(PASSES, name))


def quantizer(name: str) -> Quantizer:
    """Load one quantizer; raises as :func:`backend` does."""
    return cast("Quantizer", _load(QUANTIZERS, name))


def entry_point(group: str, name: str) -> EntryPoint:
    """Return where a name of a group is registered; that of a model yields others too."""
    if group == MODELS:
        return _model(name)[1]
    points = _points(group)
    if name not in points:
        raise _unknown(group, name)
    return points[name]


def known_names(group: str, name: str) -> str:
    """Return a hint for a name that a group lacks: the nearest, and what there is or which command lists it.

    A backend may also be meant by its distribution: ``onnxruntime``.
    """
    known = names(group)
    by_distribution = _names_by_distribution(group) if group in (BACKENDS, REFERENCES) else {}
    if name in by_distribution:
        return f"Did you mean {by_distribution[name]}? Known: {', '.join(known)}."
    remedy = f"Known: {', '.join(known) or 'none'}."
    if group == MODELS and len(known) > _MOST_NAMED:
        remedy = "See: irbench models"
    return f"{did_you_mean(name, known)}{remedy}"


def _names_by_distribution(group: str) -> dict[str, str]:
    known: dict[str, str] = {}
    for name in names(group):
        with contextlib.suppress(IrbenchError):
            known.setdefault(describe(group, name).distribution, name)
    return known


def load_all(group: str) -> dict[str, Any]:
    """Load everything of a group, by name; what is broken becomes a :class:`PluginWarning`."""
    if group == MODELS:
        return {name: source for name, (source, _) in sorted(_models().items())}
    loaded: dict[str, Any] = {}
    for name in names(group):
        try:
            loaded[name] = _load(group, name)
        except IrbenchError as error:
            _warn_left_out(error)
    return loaded


def describe(group: str, name: str) -> Description:
    """Return what a backend, a reference or a quantizer says of itself; raises as :func:`backend` does."""
    return cast("Description", _described(group, name, _load(group, name)))


def describe_exporter(name: str) -> ExporterDescription:
    """Return what an exporter says of itself; raises as :func:`describe` does."""
    return cast("ExporterDescription", _described(EXPORTERS, name, _load(EXPORTERS, name)))


def describe_all(group: str) -> dict[str, Any]:
    """Return what everything of a group says of itself, by name; what is broken becomes a :class:`PluginWarning`."""
    described: dict[str, Any] = {}
    for name, item in load_all(group).items():
        try:
            described[name] = _described(group, name, item)
        except IrbenchError as error:
            _warn_left_out(error)
    return described


def installed_backends() -> tuple[str, ...]:
    """Return the names of the backends whose runtime is installed, sorted."""
    described: dict[str, Description] = describe_all(BACKENDS)
    return tuple(name for name, description in described.items() if description.version is not None)


def trainer() -> str:
    """Return the name of the first backend that trains models.

    Raises:
        IrbenchError: No backend does.
    """
    trains = (name for name, item in load_all(BACKENDS).items() if isinstance(item, TrainingBackend))
    name = next(trains, None)
    if name is None:
        raise IrbenchError("No backend that trains models is there.", hint="See which there are: irbench backends")
    return name


def references_in_order() -> tuple[str, ...]:
    """Return the references whose runtime is installed, by their ranks, the lowest first, then by name.

    irbench brings one of its own, so there is always one. A broken plugin becomes a :class:`PluginWarning`.
    """
    described: dict[str, Description] = describe_all(REFERENCES)
    installed = (name for name, description in described.items() if description.version is not None)
    return tuple(sorted(installed, key=lambda name: (described[name].reference_rank, name)))


def distributions() -> tuple[str, ...]:
    """Return the distributions that backends, references and exporters rest on, sorted; broken plugins have none."""
    runtimes: list[Description] = [item for group in (BACKENDS, REFERENCES) for item in describe_all(group).values()]
    exporters: Iterable[ExporterDescription] = describe_all(EXPORTERS).values()
    known = {"numpy", "onnx", *(item.distribution for item in runtimes)}
    return tuple(sorted(known.union(*(item.distributions for item in exporters))))


def variables() -> tuple[str, ...]:
    """Return how the names of variables begin that runtimes read, sorted; broken plugins have none."""
    groups = (BACKENDS, REFERENCES, QUANTIZERS)
    described: list[Description] = [item for group in groups for item in describe_all(group).values()]
    return tuple(sorted({beginning for item in described for beginning in item.variables if beginning}))


def probe(name: str) -> Availability:
    """Let a backend look at this machine through its runtime. Call it in a worker: it imports the runtime."""
    return backend(name).probe()


def advised_streams(name: str, artifact: Artifact, load: Load, device: str) -> int:
    """Return how many inferences at a time a backend's runtime advises; 1 where it does not. Call it in a worker."""
    advisor = backend(name)
    if not isinstance(advisor, StreamAdvisor):
        return 1
    advisor.import_runtime(load, device)
    return advisor.advised_streams(artifact, load, device)


def forget() -> None:
    """Forget what was found and loaded, so that plugins that were installed since are found too."""
    for remembered in (_points, _models, _load):
        remembered.cache_clear()


@cache
def _points(group: str) -> dict[str, EntryPoint]:
    points: dict[str, EntryPoint] = {}
    for point in entry_points(group=group):
        first = points.setdefault(point.name, point)
        if first.value != point.value:
            _warn_of_two(group, point.name, first, point)
    return points


@cache
def _models() -> dict[str, tuple[ModelSource, EntryPoint]]:
    """Return what every function of the group yields, with its entry point; its name there says nothing."""
    models: dict[str, tuple[ModelSource, EntryPoint]] = {}
    for point in entry_points(group=MODELS):
        for source in _provided(point):
            _, first = models.setdefault(source.name, (source, point))
            if first.value != point.value:
                _warn_of_two(MODELS, source.name, first, point)
    return models


def _provided(point: EntryPoint) -> tuple[ModelSource, ...]:
    try:
        sources = tuple(point.load()())
        if not all(isinstance(source, ModelSource) for source in sources):
            raise TypeError("it yields something other than a ModelSource")  # noqa: TRY301 - reported as any other fault of it
    except Exception as error:  # noqa: BLE001 - as in _load
        _warn_left_out(_broken_point(MODELS, point, "loaded", error))
        return ()
    return sources


def _model(name: str) -> tuple[ModelSource, EntryPoint]:
    if name not in _models():
        raise _unknown(MODELS, name)
    return _models()[name]


def _unknown(group: str, name: str) -> IrbenchError:
    return IrbenchError(f"There is no {_NOUNS[group]} '{name}'.", hint=known_names(group, name))


def _warn_of_two(group: str, name: str, first: EntryPoint, second: EntryPoint) -> None:
    warnings.warn(
        f"Both {_distribution(first)} and {_distribution(second)} register the {_NOUNS[group]} "
        f"'{name}'; that of {_distribution(first)} is used.",
        PluginWarning,
        stacklevel=3,
    )


@cache
def _load(group: str, name: str) -> Any:
    point = entry_point(group, name)
    try:
        return point.load()
    except Exception as error:  # a plugin may fail in any way, and none may end the program
        raise _broken(group, name, "loaded", error) from error


def _described(group: str, name: str, item: Any) -> Description | ExporterDescription:
    expected = ExporterDescription if group == EXPORTERS else Description
    try:
        description = item.describe()
    except Exception as error:  # as in _load
        raise _broken(group, name, "described", error) from error
    if not isinstance(description, expected):
        raise _broken(group, name, "described", TypeError(f"describe returns no {expected.__name__}"))
    return description


def _broken(group: str, name: str, what: str, error: Exception) -> IrbenchError:
    return _broken_point(group, entry_point(group, name), what, error)


def _broken_point(group: str, point: EntryPoint, what: str, error: Exception) -> IrbenchError:
    distribution = _distribution(point)
    return IrbenchError(
        f"The {_NOUNS[group]} '{point.name}' of {distribution} cannot be {what} ({type(error).__name__}: {error}).",
        hint=f"Update or remove the distribution {distribution}.",
        exit_code=ExitCode.NOT_INSTALLED,
    )


def _warn_left_out(error: IrbenchError) -> None:
    warnings.warn(f"{error.message} It is left out. {error.hint}", PluginWarning, stacklevel=3)


def _distribution(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value


def parse_backend(text: str) -> BackendAddress:
    """Return the backend and the device that ``name[:device]`` means; without a device it is the CPU."""
    address = BackendAddress.parse(text)
    name, device = address
    devices = describe(BACKENDS, name).devices
    if device not in devices and ":" in text:
        named = {device: device if device == "cpu" else str(BackendAddress(name, device)) for device in devices}
        meant = next((gpu for gpu in _GPUS if gpu in devices and device.casefold() in _GPUS), nearest(device, devices))
        near = f"Did you mean {named[meant]}? " if meant else ""
        known = ", ".join(named.values())
        raise IrbenchError(
            f"{name} has no device '{device}'.",
            hint=f"{near}Its devices: {known}; {name} without a device is the CPU.",
        )
    return address


def require_installed(name: str) -> Description:
    """Return a backend's description, provided that its runtime is installed."""
    description = describe(BACKENDS, name)
    if description.version is None:
        raise IrbenchError(
            f"{name} needs {description.distribution}, which is not installed.",
            hint=f"Install it with: {description.install}",
            exit_code=ExitCode.NOT_INSTALLED,
        )
    return description


def require_options(name: str, keys: Iterable[str]) -> None:
    """Refuse what a backend says that it cannot be given; one that declares no keys judges them when it compiles."""
    description = describe(BACKENDS, name)
    for key in keys:
        if key in description.reserved:
            raise IrbenchError(f"{name}.{key} is set by irbench itself.", hint=f"Use {description.reserved[key]}.")
        if description.options is not None and key not in description.options:
            raise IrbenchError(
                f"{name} has no option '{key}'.",
                hint=f"{did_you_mean(key, description.options)}Known: {', '.join(description.options) or 'none'}.",
            )
