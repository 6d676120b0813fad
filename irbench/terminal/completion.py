"""Candidates for shell completion: names, files and settings, without importing a runtime."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from irbench.errors import IrbenchError

_MODEL_FILES = (".onnx", ".keras")


class CompletedName(click.ParamType[str]):
    """A name of which some are known; any text is taken."""

    def __init__(self, name: str, known: Callable[[click.Context, str], Iterable[str]]) -> None:
        self.name = name
        self._known = known

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ARG002 - click's signature
        """Return the text as it is."""
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's signature
        """Return the names that begin like this, or leave it to the shell to complete a path."""
        begun = incomplete.casefold()
        try:
            known = list(self._known(ctx, incomplete))
        except IrbenchError:  # the command itself says it
            known = []
        fitting = [CompletionItem(value) for value in known if value.casefold().startswith(begun)]
        return fitting or [CompletionItem(incomplete, type="file")]


def offer_list(known: Callable[[str], Iterable[str]], incomplete: str) -> list[CompletionItem]:
    """Return what a comma-separated list may become: its last name completed, without those it holds already."""
    before, comma, begun = incomplete.rpartition(",")
    used = before.split(",")
    return [
        CompletionItem(before + comma + name) for name in known(begun) if name.startswith(begun) and name not in used
    ]


def addresses(begun: str) -> tuple[str, ...]:
    """Return the names of all backends, installed or not; behind a colon the devices of the one before it."""
    from irbench.core import registry

    known = registry.names(registry.BACKENDS)
    name, colon, _ = begun.partition(":")
    if not colon:
        return known
    return (
        tuple(f"{name}:{device}" for device in registry.describe(registry.BACKENDS, name).devices)
        if name in known
        else ()
    )


def levels(_begun: str) -> tuple[str, ...]:
    """Return the levels of optimisation, alone and followed by a precision."""
    from irbench.optimizer import CONVERSIONS, LEVELS, UNOPTIMIZED

    better = [level for level in LEVELS if level != UNOPTIMIZED]
    return (*LEVELS, *(f"{level}-{conversion.name}" for level in better for conversion in CONVERSIONS))


def passes(_begun: str) -> tuple[str, ...]:
    """Return the passes of the optimiser."""
    from irbench.core import registry

    return registry.names(registry.PASSES)


def settings(incomplete: str) -> list[CompletionItem]:
    """Return the backends, and behind the dot the keys that the one before it declares."""
    from irbench.core import registry

    known = registry.names(registry.BACKENDS)
    name, dot, _ = incomplete.partition(".")
    if not dot:
        offered = [f"{name}." for name in known]
    else:
        offered = (
            [f"{name}.{key}=" for key in registry.describe(registry.BACKENDS, name).options or ()]
            if name in known
            else []
        )
    return [CompletionItem(item) for item in offered if item != incomplete and item.startswith(incomplete)]


def _models(_context: click.Context, _begun: str) -> list[str]:
    from irbench.core import registry
    from irbench.store import bundles

    return sorted({*registry.names(registry.MODELS), *(folder.parent.name for folder in bundles.all())})


def _models_and_files(context: click.Context, begun: str) -> list[str]:
    return [*_models(context, begun), *sorted(files_begun(begun))]


def files_begun(begun: str) -> Iterator[str]:
    """Yield the models' files that a text may become, and where it has begun the folders that may hold some."""
    folder, slash, name = begun.rpartition("/")
    try:
        entries = list(os.scandir(folder + slash or "."))
    except OSError:
        return
    for entry in entries:
        path = f"{folder}{slash}{entry.name}"
        shown = f"./{path}" if path.startswith("-") else path  # a file is not an option
        if entry.name.endswith(_MODEL_FILES):
            yield shown
        elif begun and entry.is_dir() and (name or not entry.name.startswith(".")):
            yield f"{shown}/"


def _runs(context: click.Context, _begun: str) -> list[str]:
    from irbench.store.folders import default_root, run_folders

    root = context.params.get("results") or default_root()
    names = (os.path.basename(folder) for folder, _ in run_folders(Path(root)))  # noqa: PTH119 - it is a text
    sweeps = (path.name for path in Path(root).glob("sweeps/*"))
    return ["latest", *sorted(names, reverse=True), *sorted(sweeps)]


def _profiles(context: click.Context, _begun: str) -> list[str]:
    from irbench.store.folders import default_root
    from irbench.store.profiles import profile_ids

    return ["latest", *reversed(profile_ids(Path(context.params.get("results") or default_root())))]


def _families(_context: click.Context, _begun: str) -> list[str]:
    from irbench.core import registry

    return sorted({source.family for source in registry.load_all(registry.MODELS).values()})


def _graphs(_context: click.Context, begun: str) -> list[str]:
    from irbench.store import bundles

    return [*(folder.parent.name for folder in bundles.all()), *sorted(files_begun(begun))]


def _levels(_context: click.Context, _begun: str) -> tuple[str, ...]:
    from irbench.optimizer import LEVELS

    return tuple(LEVELS)


BACKEND = CompletedName("backend", lambda _context, begun: addresses(begun))
MODEL = CompletedName("model", _models_and_files)
FAMILY = CompletedName("text", _families)
GRAPH = CompletedName("model", _graphs)
LEVEL = CompletedName("level", _levels)
MODEL_NAME = CompletedName("model", _models)
PROFILE = CompletedName("profile", _profiles)
RUN = CompletedName("run", _runs)
