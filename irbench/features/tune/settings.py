"""A row as a setting that can be used: the command that measures it again, and Python that runs it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from irbench.core import registry
from irbench.core.address import BackendAddress
from irbench.features.tune.report import TunedSetting
from irbench.optimizer import UNOPTIMIZED, variant
from irbench.options.run import RunOptions
from irbench.requests.user_code import accuracy_limit, options_of_limit
from irbench.spec import Cell, Load, Workload, shape_text
from irbench.spi import UsageWriter, UsedModel


def setting_of(cell: Cell, label: str = "") -> TunedSetting:
    """Return a row as a setting.

    Args:
        cell: It.
        label: What tables call it, where that is more than the row's own label.
    """
    load = cell.load
    return TunedSetting(
        row=cell.id,
        label=label or cell.label,
        backend=str(cell.address),
        batch=load.batch,
        threads=load.threads,
        streams=load.streams,
        instances=load.instances,
        precision=load.precision,
        optimize=(cell.artifact.variant if cell.artifact is not None else "") or UNOPTIMIZED,
        options=dict(load.options),
        precision_required=load.precision_required,
        accuracy=None if cell.accuracy is None else cell.accuracy.value,
        misses_tolerance=cell.accuracy is not None and cell.accuracy.misses_tolerance,
    )


def command_of(setting: TunedSetting, run: RunOptions) -> tuple[str, ...]:
    """Return the words of a command line that measures a setting; none where its samples are in memory.

    Args:
        setting: It.
        run: What else was asked of every row: the model and its inputs.
    """
    if run.data is not None and not run.inputs.source:
        return ()
    return ("irbench", "run", *run.models, *_words(_own_options(setting)), *_words(_shared_options(run)))


def code_of(setting: TunedSetting, workload: Workload, cpus: Sequence[int] | None) -> str:
    """Return Python that runs a model with a setting, without irbench; empty where the backend does not say.

    Args:
        setting: It.
        workload: The model at the size that was measured.
        cpus: The processors that were used; ``None`` for all.
    """
    address = BackendAddress.parse(setting.backend)
    backend = registry.backend(address.name)
    if not isinstance(backend, UsageWriter):
        return ""
    load = Load(
        batch=setting.batch,
        threads=setting.threads,
        streams=setting.streams,
        precision=setting.precision,
        options=setting.options,
        precision_required=setting.precision_required,
    )
    used = _used_model(setting, workload)
    made = [] if setting.optimize == UNOPTIMIZED else [f"# {_making(setting, workload, used.path)}"]
    return "\n".join((*made, *_shares(setting, cpus), backend.usage(used, load, address.device).program))


def _used_model(setting: TunedSetting, workload: Workload) -> UsedModel:
    """Return the graph that was measured: the exported one at its size, or an optimised one, which has that size."""
    exported = workload.bundle.artifact(("onnx",))
    if setting.optimize != UNOPTIMIZED or exported is None:
        return UsedModel(f"{workload.bundle.name}.{setting.optimize}.onnx")
    dynamic = [spec for spec in exported.inputs if spec.dynamic_dimensions]
    shapes = {spec.name: tuple(map(int, spec.bind(workload.sizes).shape)) for spec in dynamic}
    names = {name for spec in dynamic for name in spec.dynamic_dimensions}
    sizes = {name: size for name, size in workload.sizes.items() if name in names}
    return UsedModel(str(exported.path), shapes, sizes)


def _making(setting: TunedSetting, workload: Workload, path: str) -> str:
    """Return the command that makes an optimised graph of the size that was measured."""
    recipe = variant(setting.optimize)
    words = [
        "irbench",
        "optimize",
        workload.bundle.source or workload.bundle.name,
        "--level",
        recipe.name.partition("-")[0],
    ]
    if recipe.layout != "keep":
        words += ["--layout", recipe.layout]
    if recipe.conversion is not None:
        words += ["--precision", recipe.conversion.precision, "--quantize", recipe.conversion.method]
    return shlex.join((*words, "--batch", str(setting.batch), "-o", path))


def _shares(setting: TunedSetting, cpus: Sequence[int] | None) -> Iterator[str]:
    if setting.instances > 1:
        yield f"# in each of {setting.instances} processes, with processors of its own: os.sched_setaffinity(0, share)"
        if cpus is not None:
            yield f"# of the processors {', '.join(map(str, cpus))}"


def _own_options(setting: TunedSetting) -> Iterator[tuple[str, str]]:
    yield "--backends", setting.backend
    yield "--batch", str(setting.batch)
    yield "--threads", str(setting.threads or "native")
    if setting.streams > 1:
        yield "--streams", str(setting.streams)
    if setting.instances > 1:
        yield "--instances", str(setting.instances)
    converted = setting.optimize != UNOPTIMIZED and variant(setting.optimize).conversion is not None
    if setting.precision_required and not converted:
        yield "--precision", setting.precision
    if setting.optimize != UNOPTIMIZED:
        yield "--optimize", setting.optimize
    name = BackendAddress.parse(setting.backend).name
    for key, value in setting.options.items():
        yield "--set", f"{name}.{key}={value}"


def _shared_options(run: RunOptions) -> Iterator[tuple[str, str]]:
    for name, sizes in run.shape.items():
        yield "--shape", f"{name}={shape_text(sizes)}"
    if run.inputs.source:
        yield "--data", run.inputs.source
    for name, elements in run.value.items():
        yield "--value", f"{name}={','.join(map(str, elements))}"
    yield from options_of_limit(accuracy_limit(run)).items()
    if run.cpus is not None:
        yield "--cpus", ",".join(map(str, run.cpus))
    if run.io != "copy":
        yield "--io", run.io
    if run.warmup is not None:
        yield "--warmup", str(run.warmup)
    if run.seed:
        yield "--seed", str(run.seed)
    for module in run.imports:
        yield "--import", module


def _words(options: Iterator[tuple[str, str]]) -> Iterator[str]:
    for option, value in options:
        yield option
        yield value
