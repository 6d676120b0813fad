"""The key of an export: a digest of what is known before it and affects its result."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec

from irbench import __version__
from irbench.core import registry
from irbench.errors import ExitCode, IrbenchError
from irbench.exporter.source import Source, find_module, package_files
from irbench.options.export import ExportOptions
from irbench.spi import install_command
from irbench.system.file_states import digest
from irbench.system.prepared_types import prepared

_FORMAT = 2
"""Raise it when the same request must no longer be answered by a bundle of an earlier irbench."""

OWN_CODE = ("irbench.onnx", "irbench.core.feeds")
"""What exporters use of irbench: its version alone does not tell two checkouts apart."""


def identity(source: Source, exporter: str, options: ExportOptions) -> str:
    """Return the key of an export, SHA-256 in hexadecimal.

    It covers where the model is, the options, the exporter and the versions of the tools. What the model's files and
    modules contain is recorded by the export (:class:`irbench.store.card.Origin`), because only then they are known.
    """
    exporting = registry.entry_point(registry.EXPORTERS, exporter).module
    described = {
        "format": _FORMAT,
        "source": _described(source),
        "exporter": _digests(package_files(exporting)),
        "irbench": [_digests(_own_files(module)) for module in OWN_CODE],
        "options": stored_options(options, source.folder),
        "versions": tool_versions(exporter),
    }
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


def stored_options(options: ExportOptions, folder: Path) -> dict[str, Any]:
    """Return the options that affect the result as JSON values; paths are absolute."""
    values = {name: value for name, value in asdict(options).items() if name not in ("force", "output", "deadline")}
    if options.weights not in (None, "random"):
        values["weights"] = Path(str(options.weights))
    return {name: _stored(value, folder) for name, value in values.items()}


def options_of(stored: Mapping[str, Any]) -> ExportOptions:
    """Return the options that :func:`stored_options` made values of.

    Raises:
        msgspec.ValidationError: They are of another irbench, or of nobody's.
    """
    return msgspec.convert(dict(stored), prepared(ExportOptions), dec_hook=lambda kind, value: kind(value))


def _stored(value: Any, folder: Path) -> Any:
    if isinstance(value, Path):
        return str((folder / value).absolute())
    return list(value) if isinstance(value, tuple) else value


def tool_versions(exporter: str) -> dict[str, str | None]:
    """Return the versions of what an export depends on, ``None`` for a distribution that is not installed."""
    return {"irbench": __version__, **versions(("onnx", *registry.describe_exporter(exporter).distributions))}


def versions(distributions: Iterable[str]) -> dict[str, str | None]:
    """Return the versions of distributions, ``None`` for one that is not installed."""
    return {name: installed_version(name) for name in distributions}


def _described(source: Source) -> list[str | None]:
    """Return what tells a source from any other; its content apart."""
    if source.is_zoo:
        point = registry.entry_point(registry.MODELS, source.text)
        brought = (None, None) if point.dist is None else (point.dist.name, point.dist.version)
        return ["zoo", source.text, point.value, str(find_module(point.module.partition(".")[0])), *brought]
    if source.function is None:
        return ["path", source.location]
    # a function may read files of the folder it is called in
    return ["function", source.function[0], source.location, str(source.folder)]


def _digests(files: Iterable[Path]) -> list[tuple[str, str]]:
    return [(file.name, digest(file)) for file in files]


def _own_files(module: str) -> list[Path]:
    file = find_module(module)
    if file is None:
        return []
    return sorted(file.parent.rglob("*.py")) if file.name == "__init__.py" else [file]


def installed_version(name: str) -> str | None:
    """Return the version of an installed distribution, or ``None``."""
    try:
        return metadata.version(name)
    except (metadata.PackageNotFoundError, ValueError):  # a card may contain a name that no distribution can have
        return None


def missing_distributions(model: str) -> tuple[str, ...]:
    """Return the distributions that a model of the zoo is built with and that are not installed; loads no framework."""
    return _missing(registry.model(model).requires)


def _missing(distributions: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name, version in versions(distributions).items() if version is None)


def installed_exporters(exporters: Sequence[str]) -> tuple[str, ...]:
    """Return those whose frameworks are installed; refuse where none is, before anything announces an export."""
    missing = {exporter: _missing(registry.describe_exporter(exporter).distributions) for exporter in exporters}
    installed = tuple(exporter for exporter, names in missing.items() if not names)
    if not installed:
        named = " or ".join(", ".join(names) for names in missing.values())
        commands = " or: ".join(install_command(*names) for names in missing.values())
        raise IrbenchError(
            f"{named} must be installed to export models.",
            hint=f"Install with: {commands}. ONNX files need no export: irbench run model.onnx",
            exit_code=ExitCode.NOT_INSTALLED,
        )
    return installed


def require_distributions(source: Source) -> None:
    """Refuse a model of the zoo that is built with something that is not installed."""
    missing = missing_distributions(source.text) if source.is_zoo else ()
    if missing:
        raise IrbenchError(
            f"{source.text} is built with {', '.join(missing)}, which is not installed.",
            hint=f"Install it: {install_command(*missing)}",
            exit_code=ExitCode.NOT_INSTALLED,
        )
