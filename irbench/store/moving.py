"""Stored runs as a whole: brought in from elsewhere, or removed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from irbench.errors import IrbenchError
from irbench.store.files import explained
from irbench.store.import_staging import Staged
from irbench.system.files import move_folder
from irbench.system.locks import hold, temporary_folder

__all__ = ["Arrivals", "import_runs", "remove_runs"]


@dataclass(frozen=True)
class Arrivals:
    """What an import did.

    Attributes:
        added: Folders of the runs that are new here.
        present: Folders of those that were here already, with the same content.
    """

    added: tuple[Path, ...]
    present: tuple[Path, ...]


def import_runs(sources: Sequence[Path], root: Path, stage: Callable[[Sequence[Path], Path, Path], Staged]) -> Arrivals:
    """Bring runs into the store: everything is checked before the first of them becomes visible, each in one step.

    Args:
        sources: Archives of :func:`irbench.store.archives.pack`, or folders with runs in them at any depth.
        root: The store's folder.
        stage: Calls :func:`irbench.store.import_staging.stage`, in a worker where what is brought may do harm.

    Raises:
        IrbenchError: As ``stage``, or the store cannot be written. Nothing was imported.
    """
    with contextlib.ExitStack() as stack:
        with explained(root):
            root.mkdir(parents=True, exist_ok=True)
            scratch = stack.enter_context(temporary_folder(root, ".import-"))
        staged = stage(sources, root, scratch)
        _publish(staged.copies)
    return Arrivals(tuple(staged.copies), staged.present)


def remove_runs(folders: Sequence[Path], root: Path) -> Iterator[Path]:
    """Remove runs for good, and yield each when it is gone; it disappears in one step.

    Args:
        folders: Where they lie, below ``root``.
        root: The store's folder.

    Raises:
        IrbenchError: One of them is being measured, and none was removed; or its folder may not be changed.
    """
    with contextlib.ExitStack() as stack:
        for folder in folders:
            _hold(folder, stack)
        with explained(root):
            aside = stack.enter_context(temporary_folder(root, ".removed-"))
        for folder in folders:
            with explained(folder):
                folder.rename(aside / folder.name)
            yield folder


def _publish(copies: Mapping[Path, Path]) -> None:
    """Move every copy to its place, or none."""
    done: list[Path] = []
    try:
        for place, copy in copies.items():
            with explained(place):
                place.parent.mkdir(parents=True, exist_ok=True)
                move_folder(copy, place)
                done.append(place)
    except BaseException:  # an interrupt as well
        for place in done:
            place.rename(copies[place])
        raise


def _hold(folder: Path, stack: contextlib.ExitStack) -> None:
    try:
        stack.callback(os.close, hold(folder))
    except BlockingIOError as error:
        raise IrbenchError(
            f"Run {folder.name} is still being measured.", hint="Wait until it has finished, or stop it with Ctrl-C."
        ) from error
    except OSError:
        pass  # some network file systems know no locks
