"""Resolve names to models and backends, exporting models that are missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote

from irbench.api.progress import Say
from irbench.core import registry
from irbench.core.address import BackendAddress
from irbench.environments.candidates import EnvironmentCandidate, as_environment, candidate, labelled, shared_backend
from irbench.environments.runtime_sources import parse_source
from irbench.errors import ExitCode, IrbenchError
from irbench.exporter.build import export, is_exportable, validate
from irbench.exporter.foreign import from_onnx_file
from irbench.exporter.freshness import Notify, bundle_facts
from irbench.exporter.refresh import find_outdated, is_made_from, made_from, refreshed
from irbench.exporter.source import Source, require_possible
from irbench.measure.lock import measuring
from irbench.notices.bundle_notices import ExportedOften, PathPreferred
from irbench.onnx.reading.protobuf import require_model_file
from irbench.options.export import ExportOptions
from irbench.render.export_texts import export_notice_text, export_problems
from irbench.spec import Bundle, PythonEnvironment
from irbench.store import bundles
from irbench.system.file_states import is_file
from irbench.worker.model_files import require_sound_weights

FIRST_MODEL = "resnet50"
"""What is exported and run when nothing is named and nothing was exported yet."""


def resolve_bundles(
    names: Sequence[str], *, everything: bool, say: Callable[[str], None], imports: tuple[str, ...] = ()
) -> tuple[Bundle, ...]:
    """Return the models to run.

    Args:
        names: Zoo names, names of bundles, folders of bundles, ``.onnx`` files, or anything that can be exported.
        everything: Every bundle there is (``--all``); excludes names.
        say: Receives the progress of exports, and which bundle is used.
        imports: Modules to import before a model is loaded that is exported now.
    """
    if everything:
        return tuple(_refreshed(folder, imports, say) for folder in _every_bundle(names))
    if not names:
        latest = bundles.latest()
        if latest is not None:
            say(f"no model was named: taking {latest.parent.name}, the model exported last")
            return (_refreshed(latest, imports, say),)
        validate(FIRST_MODEL, ExportOptions(imports=imports))
        say(f"no model has been exported yet: using {FIRST_MODEL}")
        return (_exported(FIRST_MODEL, imports, say),)
    return tuple(_bundle(name, imports, say) for name in dict.fromkeys(names))


def disambiguate(models: Sequence[Bundle]) -> tuple[Bundle, ...]:
    """Return models with names of their own: files of one name are told apart by their folders, then by numbers."""
    often = Counter(bundle.name for bundle in models)
    named = [
        bundle.name if often[bundle.name] == 1 else f"{bundle.name} ({Path(bundle.source).parent.name or '.'})"
        for bundle in models
    ]
    taken: Counter[str] = Counter()
    distinct: list[Bundle] = []
    for bundle, name in zip(models, named, strict=True):
        taken[name] += 1
        distinct.append(replace(bundle, name=name if taken[name] == 1 else f"{name} {taken[name]}"))
    return tuple(distinct)


def require_models(names: Sequence[str], *, everything: bool, imports: tuple[str, ...] = ()) -> None:
    """Refuse names of which :func:`resolve_bundles` would refuse one, without exporting or reading a model."""
    if everything:
        _every_bundle(names)
    for name in dict.fromkeys(names):
        require_model(name, imports)


def _every_bundle(names: Sequence[str]) -> tuple[Path, ...]:
    if names:
        raise IrbenchError("--all and a model cannot be combined.", hint="Leave one of them out.")
    folders = bundles.all()
    if not folders:
        raise IrbenchError("No model has been exported yet.", hint=f"Export one: irbench export {FIRST_MODEL}")
    return tuple(folders)


def require_model(name: str, imports: tuple[str, ...] = ()) -> None:
    """Refuse what is not a model, without exporting or reading one."""
    require_possible(name)
    path = Path(name)
    if path.suffix == ".onnx":
        require_model_file(path.absolute())
    elif not is_file(path / bundles.CARD) and bundles.find(name) is None:
        _refuse_variant(name)
        validate(name, ExportOptions(imports=imports))


def resolve_backends(names: Sequence[str]) -> tuple[BackendAddress, ...]:
    """Return the backends asked for, or every installed one on the CPU."""
    if not names:
        installed = registry.installed_backends()
        if not installed:
            raise IrbenchError("No runtime is installed.", hint=_ways_to_install(), exit_code=ExitCode.NOT_INSTALLED)
        return tuple(map(BackendAddress, installed))
    pairs = tuple(dict.fromkeys(registry.parse_backend(name) for name in names))
    for name, _ in pairs:
        registry.require_installed(name)
    return pairs


def _ways_to_install() -> str:
    described = registry.describe_all(registry.BACKENDS).values()
    commands = dict.fromkeys(item.install for item in described if item.install)
    return f"Install one or more: {'; '.join(commands)}"


def able_backends(backends: Sequence[BackendAddress], models: Sequence[Bundle]) -> tuple[BackendAddress, ...]:
    """Return the backends that can read a form of at least one of the models; all of them where none can."""
    able = tuple(address for address in backends if any(_reads(address, model) for model in models))
    return able or tuple(backends)


def _reads(address: BackendAddress, model: Bundle) -> bool:
    return model.artifact(registry.backend(address.name).consumes) is not None


def is_first_run(models: Sequence[str], *, everything: bool) -> bool:
    """Return whether a run names no model where nothing was exported yet, so that it exports :data:`FIRST_MODEL`."""
    return not models and not everything and bundles.latest() is None


def _bundle(name: str, imports: tuple[str, ...], say: Callable[[str], None]) -> Bundle:
    require_possible(name)
    path = Path(name)
    if path.suffix == ".onnx":
        return from_onnx_file(path)
    if is_file(path / bundles.CARD):
        outdated = find_outdated(path)
        if outdated is not None:
            say(export_notice_text(outdated))
        return _load_sound(path)
    folder = bundles.find(name)
    if folder is not None and not _means_path(name, folder, say):
        return _refreshed(folder, imports, say)
    _refuse_variant(name)
    exported = _made_from(Source(name), say)
    return _exported(name, imports, say) if exported is None else _refreshed(exported, imports, say)


def _made_from(source: Source, say: Callable[[str], None]) -> Path | None:
    """Return the bundle that a model means which is named by its source; ``None`` where it has to be exported first.

    The name of a model of the zoo means its bundle of that name alone: one that was given another name has it for that.
    """
    if source.is_zoo or not source.exists:
        return None
    places = made_from(source)
    if len(places) > 1:
        names = tuple(place.parent.name for place in places)
        _notifier(say)(ExportedOften(source=source.text, names=names))
    return places[0] if places else None


def _load_sound(folder: Path) -> Bundle:
    """Return the bundle in a folder, whose ONNX graphs are held to the same rules as files without a card."""
    bundle = bundles.load_intact(folder)
    for artifact in bundle.artifacts:
        if artifact.kind == "onnx":
            require_sound_weights(artifact.path)
    return bundle


def _exported(source: str, imports: tuple[str, ...], say: Callable[[str], None]) -> Bundle:
    options = ExportOptions(imports=imports)
    validate(source, options)
    return _loaded(export(source, options, say, _notifier(say)), say)


def _refreshed(place: Path, imports: tuple[str, ...], say: Callable[[str], None]) -> Bundle:
    bundle = bundles.load_intact(place)
    current = refreshed(place, imports, say, _notifier(say))
    return bundle if current == place else _loaded(current, say)


def _loaded(place: Path, say: Callable[[str], None]) -> Bundle:
    bundle = bundles.load_intact(place)
    for problem in export_problems(bundle):
        say(f"warning: {bundle.name}: {problem}")
    return bundle


def _notifier(say: Callable[[str], None]) -> Notify:
    return lambda notice: say(export_notice_text(notice))


def _means_path(name: str, folder: Path, say: Callable[[str], None]) -> bool:
    """Return whether a name is that of a file or folder here, and the bundle of that name another model's."""
    source = Source(name)
    if source.is_zoo or not is_exportable(source) or is_made_from(folder, source):
        return False
    facts = bundle_facts(bundles.load_card(folder))
    _notifier(say)(PathPreferred(bundle=facts, path=str(source.path), folder=str(folder)))
    return True


def _refuse_variant(name: str) -> None:
    """Refuse a name as ``irbench inspect`` takes it, of a graph that was made from a model."""
    model, plus, variant = name.rpartition("+")
    path = Path(model)
    known = is_file(path) or is_file(path / bundles.CARD) or bundles.find(model) is not None
    if plus and (known or model in registry.names(registry.MODELS)):
        variant = variant.partition(":")[0]
        way = f"irbench run {quote(model)} --optimize {variant}"
        if variant.startswith("custom"):  # no run can ask for passes that were named one by one
            way = f"irbench optimize {quote(model)} --passes ... -o better.onnx, then irbench run better.onnx"
        raise IrbenchError(f"{name} is a variant of {model}, not a model.", hint=f"To measure a variant: {way}")


_KEYS = "abcdefghijklmnopqrstuvwxyz"


class Environments:
    """Environments of versions, each built and looked at once."""

    def __init__(self, backend: str | None, say: Say, *, insist: bool) -> None:
        self._address = None if backend is None else registry.parse_backend(backend)
        self._say = say
        self._insist = insist
        self._known: dict[str, EnvironmentCandidate] = {}

    def of(self, versions: Sequence[str]) -> tuple[BackendAddress, tuple[PythonEnvironment, ...]]:
        """Return the backend whose runtime all versions have, and their environments."""
        candidates = [self._candidate(text) for text in versions]
        name = shared_backend(candidates, None if self._address is None else self._address.name)
        environments = (as_environment(key, name, each) for key, each in zip(_KEYS, candidates, strict=False))
        return self._address or BackendAddress(name), labelled(tuple(environments))

    def _candidate(self, text: str) -> EnvironmentCandidate:
        if text not in self._known:
            source = parse_source(text)
            with measuring("environments", insist=self._insist):  # installing disturbs whoever measures
                self._known[text] = candidate(text, source, self._say)
        return self._known[text]
