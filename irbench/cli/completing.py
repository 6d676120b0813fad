"""What a shell offers while a command line is typed: names of backends, models and runs, without any runtime."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

__all__ = ["BACKEND", "MODEL", "RUN", "backend_names", "comma_list"]


class _Name(click.ParamType[str]):
    """A name of which some are known; any text is taken."""

    def __init__(self, name: str, known: Callable[[click.Context], Iterable[str]]) -> None:
        self.name = name
        self._known = known

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ARG002 - click's signature
        """Return the text as it is."""
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's signature
        """Return the names that begin like this, or leave it to the shell to complete a path."""
        begun = incomplete.casefold()
        fitting = [CompletionItem(name) for name in self._known(ctx) if name.casefold().startswith(begun)]
        return fitting or [CompletionItem(incomplete, type="file")]


def comma_list(known: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """Return what a comma-separated list may become: its last name completed, without those it holds already."""
    before, comma, begun = incomplete.rpartition(",")
    used = before.split(",")
    return [CompletionItem(before + comma + name) for name in known if name.startswith(begun) and name not in used]


def backend_names() -> tuple[str, ...]:
    """Return the names of all backends, installed or not."""
    from irbench import registry

    return registry.names(registry.BACKENDS)


def _models(_context: click.Context) -> list[str]:
    from irbench import bundles, registry

    return sorted({*registry.names(registry.MODELS), *(folder.parent.name for folder in bundles.all())})


def _runs(context: click.Context) -> list[str]:
    from irbench.store.folders import default_root, run_folders

    root = context.params.get("results") or default_root()
    names = (os.path.basename(folder) for folder, _ in run_folders(Path(root)))  # noqa: PTH119 - it is a text
    return ["latest", *sorted(names, reverse=True)]


BACKEND = _Name("backend", lambda _context: backend_names())
MODEL = _Name("model", _models)
RUN = _Name("run", _runs)
