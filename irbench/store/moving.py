"""Stored runs as a whole: brought in from elsewhere, or removed."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from irbench.errors import IrbenchError
from irbench.store.files import explained, read_bytes
from irbench.store.folders import Unsearched
from irbench.store.import_staging import Staged
from irbench.system.file_access import move_folder
from irbench.system.locks import hold, temporary_folder, waiting_for


@dataclass(frozen=True)
class Arrivals:
    """What an import did.

    Attributes:
        added: Folders of the runs that are new here.
        present: Folders of those that were here already, with the same content.
        unsearched: What lies among the runs and was not searched.
    """

    added: tuple[Path, ...]
    present: tuple[Path, ...]
    unsearched: tuple[Unsearched, ...] = ()


def import_runs(sources: Sequence[Path], root: Path, stage: Callable[[Sequence[Path], Path, Path], Staged]) -> Arrivals:
    """Bring runs into the store: everything is checked before the first of them becomes visible, each in one step.

    Args:
        sources: Archives of :func:`irbench.store.archives.pack`, or folders with runs in them at any depth.
        root: The store's folder.
        stage: Calls :func:`irbench.store.import_staging.stage`, in a worker where what is brought may do harm.
    """
    with contextlib.ExitStack() as stack:
        with explained(root):
            root.mkdir(parents=True, exist_ok=True)
            scratch = stack.enter_context(temporary_folder(root, ".import-"))
        staged = stage(sources, root, scratch)
        added = _publish(staged.copies)
    others = tuple(place for place in staged.copies if place not in added)
    return Arrivals(added, (*staged.present, *others), staged.unsearched)


def remove_runs(folders: Sequence[Path], root: Path) -> Iterator[Path]:
    """Remove runs for good, and yield each that is gone; it disappears in one step.

    One that somebody else removed meanwhile is not yielded. Removals from one store take turns, so that none takes
    another's lock for that of a measurement.

    Args:
        folders: Where they lie, below ``root``.
        root: The store's folder.
    """
    with contextlib.ExitStack() as stack:
        with explained(root):
            aside = stack.enter_context(temporary_folder(root, ".removed-"))
        removed: list[Path] = []
        try:
            with _turn(root), contextlib.ExitStack() as held:
                for folder in folders:
                    _hold(folder, held)
                for number, folder in enumerate(folders):
                    if _moved_aside(folder, aside / str(number)):
                        removed.append(folder)
        finally:  # after the turn, because whoever is told may be slow; and told even where a later one failed
            yield from removed


def _moved_aside(folder: Path, place: Path) -> bool:
    """Move a run out of sight; ``False`` where somebody else did before."""
    with explained(folder):
        try:
            folder.rename(place)
        except FileNotFoundError:
            if os.path.lexists(folder):
                raise
            return False
    return True


@contextlib.contextmanager
def _turn(root: Path) -> Iterator[None]:
    """Wait until nobody else removes runs from a store; where nothing knows locks, do not."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            stack.enter_context(waiting_for(root))
        yield


def _publish(copies: Mapping[Path, Path]) -> tuple[Path, ...]:
    """Move every copy to its place, or none, and return the places but for those where another import was first."""
    done: list[Path] = []
    try:
        for place, copy in copies.items():
            with explained(place):
                place.parent.mkdir(parents=True, exist_ok=True)
                if _moved(copy, place):
                    done.append(place)
    except BaseException:  # an interrupt as well
        for place in done:
            place.rename(copies[place])
        raise
    return tuple(done)


def _moved(copy: Path, place: Path) -> bool:
    """Move a copy to its place; ``False`` where the same run came there meanwhile.

    Raises:
        OSError: It cannot be moved, or something else lies there.
    """
    try:
        move_folder(copy, place)
    except OSError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTEMPTY) or not _is_same(copy, place):
            raise
        return False
    return True


def _is_same(run: Path, other: Path) -> bool:
    """Whether the document and the launches of two runs are the same, byte for byte."""
    names = [path.name for path in run.iterdir() if path.is_file()]
    try:
        return all(read_bytes(run / name) == read_bytes(other / name, follow=False) for name in names)
    except IrbenchError:
        return False


def _hold(folder: Path, stack: contextlib.ExitStack) -> None:
    try:
        stack.callback(os.close, hold(folder))
    except BlockingIOError as error:
        raise IrbenchError(
            f"Run {folder.name} is still being measured.", hint="Wait until it has finished, or stop it with Ctrl-C."
        ) from error
    except OSError:
        pass  # some network file systems know no locks
