"""The coordinator's side of an export."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from irbench.core import registry
from irbench.core.record import OutputError
from irbench.errors import ExitCode, IrbenchError
from irbench.exporter.foreign import similar_file, unknown_source
from irbench.exporter.freshness import ExistingBundle, Notify, bundle_used, existing_bundle, source_changed
from irbench.exporter.identity import (
    identity,
    installed_exporters,
    require_distributions,
    stored_options,
    tool_versions,
)
from irbench.exporter.reads import Reads, reads_request
from irbench.exporter.source import Source, require_code, require_possible
from irbench.measure.clock import utc_now
from irbench.notices.bundle_notices import NameTaken
from irbench.options.export import DEFAULT_OPSET, ExportOptions
from irbench.spec import Bundle
from irbench.spi import Acceptance, Exporter, ExportRequest
from irbench.store import bundles
from irbench.store.card import Origin
from irbench.system.file_states import is_file
from irbench.worker import WorkerDied, call_in_worker
from irbench.worker.failures import CallFailed, WorkerTimedOut

_MIN_OPSET, _MAX_OPSET = 13, 23
_LONGEST = 100
_RESERVED = "+:/\\"
"""Signs with which names of graphs and paths are told from those of bundles."""
_FILE_ENDINGS = (".onnx", ".keras", ".py", ".h5")


def require_name(name: str, source: Source) -> None:
    """Refuse a name that a bundle of ``source`` cannot have."""
    odd = not name.isprintable() or name != name.strip() or name.startswith((".", "-")) or len(name) > _LONGEST
    if not name or odd or any(sign in name for sign in _RESERVED) or name.endswith(_FILE_ENDINGS):
        raise IrbenchError(
            f"{name!r} is not a valid name for a bundle.",
            hint="Use letters, digits, '_', '-' and '.', and no ending of a model file.",
        )
    owner = owner_of(name, source)
    if owner:
        removed = f", or remove that bundle: rm -r {place.parent}" if (place := _place_of(name)) else "."
        raise IrbenchError(
            f"The name {name} belongs to the model {owner}.", hint=f"Choose another with --name{removed}"
        )


def free_name(preferred: str, source: Source) -> str:
    """Return the first of ``make``, ``make-net``, ``make-2`` and so on that no other model has.

    What follows the name tells the model from the one that has the name: its module, or the folder it is in.
    """
    return next(name for name in _names(_valid(preferred), source) if not owner_of(name, source))


def owner_of(name: str, source: Source) -> str:
    """Return which other model a name means; empty where it is free, or means a bundle of ``source``."""
    if name in registry.names(registry.MODELS):
        return "" if source.is_zoo and source.text == name else f"{name} of irbench models"
    card = _card_of(name)
    if card is None:
        return ""
    if card.origin is None:
        return "" if card.bundle.source in (source.text, source.absolute) else card.bundle.source or name
    gone = not Source(card.origin.source, Path(card.origin.folder)).exists
    return "" if gone or card.origin.location == source.location else card.origin.location


def _valid(name: str) -> str:
    """Return a name that files and commands can have, as a model's own is any text."""
    return "".join("_" if sign in _RESERVED else sign for sign in name).lstrip(".-")[:_LONGEST] or "model"


def _names(preferred: str, source: Source) -> Iterator[str]:
    yield preferred
    taken = _places(_source_of(preferred))
    yield from (f"{preferred}-{place}" for place in _places(source) if place and place not in taken)
    yield from (f"{preferred}-{number}" for number in count(2))


def _source_of(name: str) -> Source | None:
    card = _card_of(name)
    origin = None if card is None else card.origin
    return None if origin is None else Source(origin.source, Path(origin.folder))


def _place_of(name: str) -> Path | None:
    """Return the bundle of a name that is not reserved for a model of the zoo."""
    return None if name in registry.names(registry.MODELS) else bundles.find(name)


def _card_of(name: str) -> bundles.Card | None:
    """Return the card of a name; ``None`` where there is no bundle of it, or a damaged one, which may be replaced."""
    place = bundles.find(name)
    try:
        return None if place is None else bundles.load_card(place)
    except IrbenchError:
        return None


def _places(source: Source | None) -> tuple[str, ...]:
    """Return what tells a model from others of its name, the nearest first."""
    if source is None or source.is_zoo:
        return ()
    if source.function is None:
        return (source.path.parent.name,)
    file = source.code_file
    return (source.module.rpartition(".")[2], file.parent.name if file else "")


_UNEXPECTED = "irbench did not expect that of a model. Nothing was kept."
_MORE_TIME = "Nothing was kept. Give more time with --deadline, or export a smaller model."
_DEADLINE_S = 3600.0
_CHECK_DEADLINE_S = 900.0

Say = Callable[[str], None]
Check = Callable[[Bundle], object]


def _no_check(_bundle: Bundle) -> None: ...


def export(
    source: str,
    options: ExportOptions,
    say: Say,
    notify: Notify = lambda _: None,
    folder: Path | None = None,
    check: Check = _no_check,
) -> Path:
    """Return the folder of the bundle of ``source``, made now unless one made from the same things exists.

    Args:
        source: A zoo name, a ``.keras`` file, a SavedModel folder, ``package.module:function`` or
            ``path/to/file.py:function``.
        options: How it is exported.
        say: Receives progress, a few words at a time.
        notify: Receives which bundle is used and why one is made again.
        folder: Where relative paths and modules are searched; the current folder where it is ``None``.
        check: Called with the bundle, its paths absolute, before it is put in its place; raises where it must not be.
    """
    named = Source(source, folder or Path.cwd())
    exporters = _checked(named, options)
    existing = None if options.force else _existing(named, exporters, options)
    if existing is not None and existing.is_fresh:
        check(bundles.load(existing.folder))
        with contextlib.suppress(OSError):  # it can be used all the same
            bundles.point_to(existing.folder)
        notify(bundle_used(existing.card))
        return existing.folder
    if existing is not None:
        notify(source_changed(existing))
    if options.output is not None:
        bundles.require_replaceable(options.output)  # before the first minute of work
    exporter = exporters[0] if len(exporters) == 1 else _owner(named, exporters, options, say)
    return _made(named, exporter, options, _Callbacks(say, notify, check))


def _existing(source: Source, exporters: Sequence[str], options: ExportOptions) -> ExistingBundle | None:
    """Return the bundle that one of the exporters has made already: one that can be used, else any."""
    made = [existing_bundle(source, exporter, options) for exporter in exporters]
    found = [bundle for bundle in made if bundle is not None]
    return next((bundle for bundle in found if bundle.is_fresh), found[0] if found else None)


def validate(source: str, options: ExportOptions) -> None:
    """Refuse at once what no export can honour: an unknown model or function, a missing file, an impossible option."""
    _checked(Source(source), options)


def _checked(source: Source, options: ExportOptions) -> tuple[str, ...]:
    refuse_impossible(options)
    require_possible(source.text)
    exporters = _exporters_of(source)
    require_distributions(source)
    require_code(source, options.imports)
    if options.name is not None:
        require_name(options.name, source)
    return exporters


def refuse_impossible(options: ExportOptions) -> None:
    """Refuse options that no export can honour."""
    if not _MIN_OPSET <= options.opset <= _MAX_OPSET:
        raise IrbenchError(
            f"Opset {options.opset} is not supported.",
            hint=f"Use one from {_MIN_OPSET} to {_MAX_OPSET}; {DEFAULT_OPSET} is usual.",
        )
    if options.batch is not None and options.batch < 1:
        raise IrbenchError(f"{options.batch} is not a valid batch size.", hint="Use 1 or more, or dynamic.")
    if options.seed < 0:
        raise IrbenchError(f"The seed {options.seed} is negative.", hint="Use 0 or a positive number.")
    if options.weights not in (None, "random") and not is_file(Path(str(options.weights))):
        raise IrbenchError(
            f"There is no weights file {options.weights}.",
            hint="Give --weights random, or a .weights.h5 or .keras file.",
        )


def _exporters_of(source: Source) -> tuple[str, ...]:
    """Return the exporter of a source; several where only a call of the function that it names tells which it is."""
    file = source.code_file if source.function else source.path
    if file is not None and file.suffix in (".keras", ".py") and not is_file(file):
        shown = source.text.rpartition(":")[0] if source.function else source.text
        raise IrbenchError(f"There is no file {shown}.", hint=similar_file(Path(shown)) or "Check the path.")
    acceptances = _acceptances(source)
    certain = [name for name, acceptance in acceptances.items() if acceptance == "certain"]
    if len(certain) > 1:
        raise IrbenchError(
            f"Several exporters take {source.text}: {' and '.join(certain)}.",
            hint=f"Uninstall all but one of: {', '.join(map(_distribution, certain))}.",
        )
    if not acceptances:
        raise unknown_source(source)
    return installed_exporters(certain or list(acceptances))


def _distribution(exporter: str) -> str:
    brought = registry.entry_point(registry.EXPORTERS, exporter).dist
    return exporter if brought is None else brought.name


def is_exportable(source: Source) -> bool:
    """Return whether an exporter takes a source; nothing is read of it but its name and kind."""
    return bool(_acceptances(source))


def _acceptances(source: Source) -> dict[str, Acceptance]:
    """Return how sure each exporter is to take a source, by its name; without those that do not."""
    exporters: dict[str, Exporter] = registry.load_all(registry.EXPORTERS)
    accepting: dict[str, Acceptance] = {}
    for name, exporter in exporters.items():
        acceptance = exporter.accepts(source.absolute)
        if acceptance in ("certain", "perhaps"):
            accepting[name] = acceptance
    return accepting


@dataclass(frozen=True)
class _Callbacks:
    say: Say
    notify: Notify
    check: Check


def _made(source: Source, exporter: str, options: ExportOptions, callbacks: _Callbacks) -> Path:
    worker = ExportWorker(exporter)
    say = callbacks.say
    key = identity(source, exporter, options)
    before = bundles.versions_with_key(key)
    with bundles.staging(options.output) as folder:
        say(f"exporting {source.text}")
        bundle, reads = worker.make(source, options, folder, say)
        bundle = replace(bundle, name=_name(bundle.name, source, options, callbacks.notify))
        complete = bundles.with_absolute_paths(bundle, folder)
        error = worker.accept(complete, say, options.deadline)
        callbacks.check(complete)
        say("storing the bundle")
        card = replace(_card(bundle, folder, key, error), origin=_origin(source, exporter, options, reads))
        return bundles.install(folder, card, options.output, before)


def _name(preferred: str, source: Source, options: ExportOptions, notify: Notify) -> str:
    """Return what a bundle is called; outside the cache no two can be confused."""
    if options.name is not None or options.output is not None:
        return options.name or preferred
    name = free_name(preferred, source)
    owner = owner_of(preferred, source)
    if owner:
        notify(NameTaken(name=name, wanted=preferred, owner=owner))
    return name


def _origin(source: Source, exporter: str, options: ExportOptions, reads: Reads) -> Origin:
    return Origin(
        source=source.text,
        folder=str(source.folder),
        location=source.location,
        exporter=exporter,
        options=stored_options(options, source.folder),
        tools=tool_versions(exporter),
        files=reads.files,
        folders=reads.folders,
        listings=reads.listings,
        modules=reads.modules,
        packages=reads.packages,
        absent=reads.absent,
    )


def _owner(source: Source, exporters: Sequence[str], options: ExportOptions, say: Say) -> str:
    """Return the exporter that owns the model of a source, which is made in a worker with nobody's environment."""
    name: str = call_in_worker(
        "irbench.exporter.acceptance:owner",
        exporters,
        source.text,
        options.imports,
        source.folder,
        deadline_s=options.deadline or _DEADLINE_S,
        say=say,
    )
    return name


class ExportWorker:
    """Calls what makes and checks a bundle, in workers with the environment that the exporter wants."""

    def __init__(self, exporter: str) -> None:
        self._exporter = exporter
        self._description = registry.describe_exporter(exporter)

    def make(self, source: Source, options: ExportOptions, folder: Path, say: Say) -> tuple[Bundle, Reads]:
        """Have the exporter make a bundle in a folder; return it, with the files that were read for it."""
        weights = stored_options(options, source.folder)["weights"]
        request = ExportRequest(
            source=source.text,
            directory=folder,
            opset=options.opset,
            batch=options.batch,
            seed=options.seed,
            weights=weights,
            layout=options.layout,
            imports=options.imports,
            signature=options.signature,
            shapes=dict(options.shape),
        )
        answer: tuple[Bundle, Reads] = self.call(
            "irbench.exporter.acceptance:make",
            self._exporter,
            request,
            source.folder,
            reads_request(source, self._exporter, weights),
            deadline_s=options.deadline or _DEADLINE_S,
            say=say,
            what=f"The export of {source.text} failed.",
        )
        bundle, reads = answer
        return replace(bundle, details={**bundle.details, "framework": self._description.framework}), reads

    def accept(self, bundle: Bundle, say: Say, deadline_s: float | None) -> OutputError | None:
        """Have a reference compare the graph with the model; return by how much they differ at most."""
        accepted: OutputError | None = self.call(
            "irbench.exporter.acceptance:accept",
            bundle,
            registry.references_in_order()[0],
            deadline_s=deadline_s or _CHECK_DEADLINE_S,
            say=say,
            what=f"The verification of {bundle.name} failed.",
        )
        return accepted

    def call(self, target: str, *args: Any, deadline_s: float, what: str, say: Say) -> Any:
        """Call a function in a worker; say what was being done where that fails."""
        environment = self._description.environment
        try:
            return call_in_worker(target, *args, deadline_s=deadline_s, say=say, environment=environment)
        except WorkerDied as death:
            remedy = _MORE_TIME if isinstance(death, WorkerTimedOut) else ""
            raise death.during(what, remedy) from death
        except CallFailed as failure:
            if failure.exit_code is not ExitCode.FAILED_CELL:  # an error of irbench, which says all
                raise
            raise IrbenchError(f"{what} {failure.message}", hint=failure.hint or _UNEXPECTED) from failure


def _card(bundle: Bundle, folder: Path, key: str, error: OutputError | None) -> bundles.Card:
    known = {artifact.path.name: artifact.sha256 for artifact in bundle.artifacts}
    paths = sorted(path for path in folder.iterdir() if path.is_file())
    files = {path.name: known.get(path.name) or bundles.digest(path) for path in paths}
    onnx = bundle.artifact(("onnx",))
    assert onnx is not None
    size = sum(path.stat().st_size for path in paths if path.name.startswith(onnx.path.name))  # with external weights
    measured = {"bytes": size, "max_rel_error": None if error is None else error.max_rel}
    return bundles.Card(
        bundle=replace(bundle, details={**bundle.details, **measured}),
        key=key,
        created=utc_now().isoformat(timespec="seconds"),
        checksums=files,
    )
