"""The coordinator's side of an export."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from irbench import bundles, registry
from irbench.errors import IrbenchError
from irbench.exporter.identity import identity
from irbench.exporter.options import ExportOptions
from irbench.exporter.other_formats import refusal
from irbench.measure.clock import utc_now
from irbench.record import OutputError
from irbench.spec import Bundle
from irbench.spi import Exporter, ExportRequest
from irbench.suggestions import nearest
from irbench.worker import WorkerDied, call_in_worker

__all__ = ["export", "export_problems", "matching", "validate"]

_DEADLINE_S = 3600.0
_CHECK_DEADLINE_S = 900.0

Say = Callable[[str], None]
Check = Callable[[Bundle], object]


def _no_check(_bundle: Bundle) -> None: ...


def export(source: str, options: ExportOptions, say: Say, check: Check = _no_check) -> Path:
    """Return the folder of the bundle of ``source``, made now unless one made from the same things exists.

    Args:
        source: A zoo name, a ``.keras`` file, a SavedModel folder, ``package.module:function`` or
            ``path/to/file.py:function``.
        options: How it is exported.
        say: Hears progress, a few words at a time.
        check: Called with the bundle, its paths absolute, before it is put in its place; raises where it must not be.

    Raises:
        IrbenchError: It cannot be exported, or what came out is not what the original computes.
    """
    options.validate()
    exporter = _exporter_of(source)
    existing = None if options.force else matching(source, options)
    if existing is not None:
        check(bundles.load(existing))
        bundles.point_to(existing)
        return existing
    if options.output is not None:
        bundles.require_replaceable(options.output)  # before the first minute of work
    folder = bundles.staging(options.output)
    worker = _ExportWorker(exporter)
    try:
        bundle = worker.make(source, options, folder, say)
        made = bundles.with_absolute_paths(bundle, folder)
        error = worker.accept(made, say)
        check(made)
        say("storing the bundle")
        return bundles.install(
            folder, _card(bundle, folder, identity(source, exporter, options), error), options.output
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def validate(source: str, options: ExportOptions) -> None:
    """Refuse at once what no export can honour: an unknown model, a missing file, an impossible option.

    Raises:
        IrbenchError: It says what is wrong.
    """
    options.validate()
    _exporter_of(source)


def matching(source: str, options: ExportOptions) -> Path | None:
    """Return the folder of a bundle made from the same things, where there is one.

    Raises:
        IrbenchError: No exporter takes the source.
    """
    key = identity(source, _exporter_of(source), options)
    if options.output is None:
        return bundles.matching(key)
    if not (options.output / bundles.CARD).is_file():
        return None
    return options.output.absolute() if bundles.load_card(options.output).key == key else None


def _exporter_of(source: str) -> str:
    file = Path(source.rpartition(":")[0] if ".py:" in source else source)
    if file.suffix in (".keras", ".py") and not file.is_file():
        raise IrbenchError(f"There is no file {file}.", hint="Check the path.")
    exporters: dict[str, Exporter] = registry.load_all(registry.EXPORTERS)
    for name, exporter in exporters.items():
        if exporter.accepts(source):
            return name
    raise _unknown(source)


def _unknown(source: str) -> IrbenchError:
    path = Path(source)
    if path.suffix == ".onnx":
        return IrbenchError(f"{source} is already an ONNX model.", hint=f"Measure it: irbench run {source}")
    other = refusal(source)
    if other is not None:
        return other
    if path.exists():
        return IrbenchError(
            f"{source} is not an ONNX file (.onnx), a .keras file or a SavedModel folder.",
            hint="A SavedModel folder contains saved_model.pb; a function is written path/to/file.py:function.",
        )
    if len(path.parts) > 1:
        return IrbenchError(f"There is no file or folder {source}.", hint=_similar_file(path) or "Check the path.")
    hint = _similar_file(path) or registry.known_names(registry.MODELS, source)
    return IrbenchError(f"There is no model called {source}.", hint=hint)


def _similar_file(path: Path) -> str:
    """Return the question whether a model file beside ``path`` was meant; empty where none has a similar name."""
    files = [file for suffix in (".onnx", ".keras") for file in sorted(path.parent.glob(f"*{suffix}"))]
    near = next((file.name for file in files if file.stem == path.stem), None)
    near = near or nearest(path.name, (file.name for file in files))
    return f"Did you mean {path.with_name(near)}?" if near else ""


class _ExportWorker:
    """Calls what makes and checks a bundle, in workers with the environment that the exporter wants."""

    def __init__(self, exporter: str) -> None:
        self._exporter = exporter
        self._description = registry.describe_exporter(exporter)

    def make(self, source: str, options: ExportOptions, folder: Path, say: Say) -> Bundle:
        request = ExportRequest(
            source, folder, options.opset, options.batch, options.seed, options.weights, options.layout
        )
        made: Bundle = self._call(
            "irbench.exporter.acceptance:make",
            self._exporter,
            request,
            deadline_s=_DEADLINE_S,
            say=say,
            what=f"The export of {source} failed.",
        )
        return replace(made, details={**made.details, "framework": self._description.framework})

    def accept(self, bundle: Bundle, say: Say) -> OutputError:
        accepted: OutputError = self._call(
            "irbench.exporter.acceptance:accept",
            bundle,
            registry.references_in_order()[0],
            deadline_s=_CHECK_DEADLINE_S,
            say=say,
            what=f"The verification of {bundle.name} failed.",
        )
        return accepted

    def _call(self, target: str, *args: Any, deadline_s: float, what: str, say: Say) -> Any:
        environment = self._description.environment
        try:
            return call_in_worker(target, *args, deadline_s=deadline_s, say=say, environment=environment)
        except WorkerDied as death:
            raise death.during(what) from death


def _card(bundle: Bundle, folder: Path, key: str, error: OutputError) -> bundles.Card:
    known = {artifact.path.name: artifact.sha256 for artifact in bundle.artifacts}
    made = sorted(path for path in folder.iterdir() if path.is_file())
    files = {path.name: known.get(path.name) or bundles.digest(path) for path in made}
    onnx = bundle.artifact(("onnx",))
    assert onnx is not None
    size = sum(path.stat().st_size for path in made if path.name.startswith(onnx.path.name))  # with external weights
    measured = {"bytes": size, "max_rel_error": error.max_rel}
    return bundles.Card(
        bundle=replace(bundle, details={**bundle.details, **measured}),
        key=key,
        created=utc_now().isoformat(timespec="seconds"),
        checksums=files,
    )


def export_problems(bundle: Bundle) -> tuple[str, ...]:
    """Return what the exporter found unusual in a model that it exported all the same: dead layers for example."""
    found = bundle.details.get("activation_problems")
    return (str(found),) if found else ()
