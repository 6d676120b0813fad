"""Starting a worker with another interpreter than ours, and with nothing of our environment but irbench itself.

The other environment brings the runtime and what the worker needs. It must not find our packages: a runtime that it
lacks would be ours. So it imports irbench and its backends from a folder of links to them that holds nothing else.
"""

from __future__ import annotations

import atexit
import importlib.util
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import cache
from importlib import metadata
from pathlib import Path

from irbench.core import registry
from irbench.system.installation import DIRECT_URL, DISTRIBUTION
from irbench.system.programs import python_process
from irbench.worker.scratch import scratch_folder

_START = "import sys; sys.path.insert(0, sys.argv.pop(1)); from irbench.worker.__main__ import main; main()"
_GROUPS = (registry.BACKENDS, registry.REFERENCES)


def worker_process(python: str | None) -> tuple[list[str], dict[str, str]]:
    """Return the command that starts a worker, up to its own arguments, and its environment."""
    if python is None:
        return python_process("-m", "irbench.worker")
    return python_process("-c", _START, str(source_folder()), python=python)


@cache
def source_folder() -> Path:
    """Return a folder from which another interpreter imports irbench and the backends, gone when this process ends."""
    scratch = ExitStack()
    folder = scratch.enter_context(scratch_folder()) / "source"
    atexit.register(scratch.close)
    folder.mkdir()
    for name in sorted({"irbench", *(value.partition(":")[0].partition(".")[0] for _, _, value in _plugins())}):
        _link(name, folder)
    _write_metadata(folder)
    return folder


def _plugins() -> Iterator[tuple[str, str, str]]:
    for group in _GROUPS:
        for name in registry.names(group):
            yield group, name, registry.entry_point(group, name).value


def _link(name: str, folder: Path) -> None:
    """Put a link to a module or package into a folder, unless it is nowhere: loading its plugin then says so."""
    spec = importlib.util.find_spec(name)
    if spec is None:
        return
    if spec.submodule_search_locations:
        (folder / name).symlink_to(Path(next(iter(spec.submodule_search_locations))).absolute())
    elif spec.origin is not None and spec.has_location:
        path = Path(spec.origin).absolute()
        (folder / path.name).symlink_to(path)


def _write_metadata(folder: Path) -> None:
    """Write what makes the plugins known, as if irbench were installed where the links are, from where it was."""
    ours = metadata.distribution(DISTRIBUTION)
    about = folder / f"{DISTRIBUTION.replace('-', '_')}-{ours.version}.dist-info"
    about.mkdir()
    lines = ["Metadata-Version: 2.1", f"Name: {DISTRIBUTION}", f"Version: {ours.version}"]
    lines += [f"Requires-Dist: {requirement}" for requirement in ours.requires or ()]
    (about / "METADATA").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(_entry_points(), encoding="utf-8")
    recorded = ours.read_text(DIRECT_URL)
    if recorded is not None:
        (about / DIRECT_URL).write_text(recorded, encoding="utf-8")


def _entry_points() -> str:
    groups: Mapping[str, list[str]] = {group: [f"[{group}]"] for group in _GROUPS}
    for group, name, value in _plugins():
        groups[group].append(f"{name} = {value}")
    return "\n\n".join("\n".join(lines) for lines in groups.values()) + "\n"
