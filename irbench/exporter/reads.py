"""Run in workers: find out which files an export read, modules and data, so that their changes are noticed later."""

from __future__ import annotations

import importlib.util
import os
import sys
import sysconfig
import tempfile
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

from irbench.core import registry
from irbench.exporter.identity import versions
from irbench.exporter.source import Source, find_module
from irbench.store import bundles
from irbench.system.file_states import FileState, exists, file_state, files_below, names_digest

_EVENTS = frozenset({"open", "os.listdir", "os.scandir"})
_FINDERS = ("<frozen importlib", f"{Path(importlib.util.__file__).parent}{os.sep}")
_INSTALLED_FINDERS = frozenset({"importlib_metadata", "pkg_resources"})
_INSTALLED = frozenset({"site-packages", "dist-packages"})
_METADATA = (".dist-info", ".egg-info")
_KEPT = ("bundles", "intact", "probes")
"""What irbench stores in its own folder, which may be the user's too."""
_SYSTEM = tuple(map(Path, ("/proc", "/sys", "/dev", "/etc", "/usr/share")))
_STANDARD_LIBRARY = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib"))


@dataclass(frozen=True)
class ReadsRequest:
    """Which files count of those that an export reads.

    Attributes:
        package: The top-level package or module that the model's code belongs to; its files count wherever they are.
        paths: Files and folders that count in any case.
        ignored: Files and folders that do not count: the tools themselves, which are known by other means.
    """

    package: str
    paths: tuple[Path, ...]
    ignored: tuple[Path, ...]


@dataclass(frozen=True)
class Reads:
    """The files that an export read, with the attributes of :class:`irbench.store.card.Origin` of the same names."""

    files: Mapping[str, FileState]
    absent: tuple[str, ...]
    folders: tuple[str, ...]
    listings: Mapping[str, str]
    modules: Mapping[str, str]
    packages: Mapping[str, str | None]


def reads_request(source: Source, exporter: str, weights: str | None) -> ReadsRequest:
    """Return which files count for an export.

    ``weights`` is the absolute path of a file, ``random``, or nothing; the exporter's own files do not count.
    """
    paths = [] if source.is_zoo or source.function else [source.path]
    paths += [] if weights in (None, "random") else [Path(str(weights))]
    tools = (
        find_module("irbench"),
        find_module(registry.entry_point(registry.EXPORTERS, exporter).module.partition(".")[0]),
    )
    kept = (home / name for home in bundles.homes() for name in _KEPT)
    ignored = (*kept, *(_whole(tool) for tool in tools if tool is not None))
    return ReadsRequest(source.module.partition(".")[0], tuple(paths), ignored)


class ReadRecorder:
    """Records which files this process opens, and which folders it lists, while it is entered.

    Python announces what it opens. Libraries that open files by themselves are to call
    ``sys.audit("open", path, mode, flags)``. A process cannot remove an audit hook: use it where the process is short.
    """

    def __init__(self) -> None:
        self._recording = False
        self._read: set[str] = set()
        self._made: set[str] = set()
        self._absent: set[str] = set()
        self._unfound = _UnfoundModules()
        self._listed: set[str] = set()
        self._began_ns = 0
        self._temporary = Path(tempfile.gettempdir())

    def __enter__(self) -> Self:
        with tempfile.TemporaryFile() as file:  # the clock of file systems is coarser than others, and behind them
            self._began_ns = os.fstat(file.fileno()).st_ctime_ns
        self._recording = True
        sys.meta_path.append(self._unfound)
        sys.addaudithook(self._hear)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._recording = False
        with suppress(ValueError):  # what was imported may have taken it out
            sys.meta_path.remove(self._unfound)

    def reads(self, request: ReadsRequest) -> Reads:
        """Return the files that were read and count, as they are now.

        A file that was changed since recording began has no known content: the next use exports again.
        """
        modules = dict(_module_files())
        own = _roots(request.package, modules)
        folders = tuple(path for path in request.paths if path.is_dir())
        named = [path for path in request.paths if not path.is_dir()]
        named += [file for folder in folders for file in files_below(folder)]
        tried = {_source_file(path) for path in (self._read | self._absent | self._unfound.files) - self._made}
        opened = {_source_file(path) for path in self._read} | tried
        paths = {*map(Path, opened), *modules.values()}
        counted = {path for path in paths if is_counted(path, own, request.ignored)} | set(named)
        files = {str(path): file_state(path, self._began_ns) for path in sorted(counted) if path.is_file()}
        users = {name: str(file) for name, file in modules.items() if "." not in name and str(file) in files}
        listed = (path for path in map(Path, sorted(self._listed)) if path.is_dir() and path != self._temporary)
        counted_folders = [path for path in listed if is_counted(path, own, request.ignored)]
        listings = {str(path): names_digest(path, self._began_ns) for path in counted_folders}
        looked_for = map(Path, sorted(tried | self._listed))
        absent = [str(path) for path in looked_for if not exists(path) and is_counted(path, own, request.ignored)]
        return Reads(files, tuple(absent), tuple(map(str, folders)), listings, users, _packages(modules, set(files)))

    def _hear(self, event: str, args: tuple[Any, ...]) -> None:
        if not self._recording or event not in _EVENTS:
            return
        named = args[0] or "."
        if not isinstance(named, str | bytes | os.PathLike):  # an open descriptor
            return
        path = os.path.normpath(Path(os.fsdecode(named)).absolute())  # the folder one is in may change
        if event != "open":
            if not _is_import(sys._getframe(1)):  # noqa: SLF001 - an audit event has no other sender
                self._listed.add(path)
        else:
            self._hear_open(path, args[2] if isinstance(args[2], int) else os.O_RDONLY)

    def _hear_open(self, path: str, flags: int) -> None:
        """Tell files that are read from those that the export makes; one that it made first tells it nothing new."""
        there = exists(Path(path))
        if flags & os.O_TRUNC or (flags & os.O_CREAT and not there):
            self._made.add(path)
        elif path in self._made or flags & os.O_ACCMODE == os.O_WRONLY:
            pass
        elif there:
            self._read.add(path)
        else:
            self._absent.add(path)


class _UnfoundModules:
    """The last finder of modules, which is asked where no other found one: remembers where it would have been."""

    def __init__(self) -> None:
        self.files: set[str] = set()

    def find_spec(self, name: str, path: Iterable[str] | None = None, _target: object = None) -> None:
        tail = name.rpartition(".")[2]
        for folder in filter(os.path.isdir, (entry or "." for entry in (sys.path if path is None else path))):
            place = os.path.normpath(Path(folder, tail).absolute())
            self.files.update((f"{place}.py", str(Path(place, "__init__.py"))))


def _is_import(frame: FrameType) -> bool:
    """Whether Python lists a folder in search of modules or of their metadata."""
    file = frame.f_code.co_filename
    parts = Path(file).parts
    installed = not _INSTALLED.isdisjoint(parts) and not _INSTALLED_FINDERS.isdisjoint(parts)
    return installed or file.startswith(_FINDERS)


def is_counted(path: Path, own: Iterable[Path], ignored: Iterable[Path]) -> bool:
    """Tell whether a file that was read makes the export another: of the folders of the model, or not installed."""
    if any(path.is_relative_to(folder) for folder in ignored):
        return False
    return any(path.is_relative_to(folder) for folder in own) or not _is_installed(path)


def _is_installed(path: Path) -> bool:
    return (
        not _INSTALLED.isdisjoint(path.parts)
        or any(part.endswith(_METADATA) for part in path.parts)
        or any(path.is_relative_to(folder) for folder in (*_SYSTEM, *_STANDARD_LIBRARY))
    )


def _packages(modules: Mapping[str, Path], hashed: Container[str]) -> dict[str, str | None]:
    installed = {
        name.partition(".")[0]
        for name, file in modules.items()
        if not _INSTALLED.isdisjoint(file.parts) and str(file) not in hashed
    }
    return versions(
        {
            distribution.metadata["Name"]
            for distribution in metadata.distributions()
            if not installed.isdisjoint(top_level(distribution))
        }
    )


def top_level(distribution: metadata.Distribution) -> Iterator[str]:
    """Yield the names of top-level modules that a distribution installed; a name may come more than once.

    As ``importlib.metadata.packages_distributions`` finds them, which makes an object of each of TensorFlow's files.
    """
    listed = distribution.read_text("top_level.txt")
    if listed is not None:
        yield from listed.split()
        return
    record = distribution.read_text("RECORD")
    lines = map(str, distribution.files or ()) if record is None else record.splitlines()
    for line in lines:
        first, slash, _ = line.lstrip('"').partition("/")
        yield first if slash else first.partition(".")[0]


def _roots(package: str, modules: Mapping[str, Path]) -> tuple[Path, ...]:
    file = modules.get(package)
    return () if file is None else (_whole(file),)


def _whole(file: Path) -> Path:
    return file.parent if file.name.startswith("__init__.") else file


def _module_files() -> Iterator[tuple[str, Path]]:
    """Yield the file of every imported module; nothing is loaded that was put off."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__dict__", {}).get("__file__") if isinstance(module, type(sys)) else None
        if isinstance(file, str):
            yield name, Path(_source_file(os.path.normpath(file)))


def _source_file(path: str) -> str:
    if not path.endswith(".pyc"):
        return path
    try:
        source = importlib.util.source_from_cache(path)
    except ValueError:
        return path
    return source if Path(source).is_file() else path
