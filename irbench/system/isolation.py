"""What keeps a program away from the processors, caches and memory of another, by the kernel's own means.

Everything is done to the program that is held back: it is moved into groups of irbench's own, made below a cgroup
hierarchy (v1 or v2) or ``/sys/fs/resctrl``, and nothing that was there before is written to but lists of members. So
all that is to be undone is to remove these groups. Their names hold the process that made them: the next start removes
those of processes that were killed.

Sources: the kernel's documentation of cgroup-v1/cpusets, cgroup-v2 and x86/resctrl.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from irbench.errors import IrbenchError
from irbench.system.controls import Control
from irbench.system.host import parse_cpu_list, read_text

_PREFIX = "irbench-"
_LOWEST_NICE = 19
_LEAST_WEIGHT = {"cpu.weight": "1", "cpu.shares": "2"}
"""Of cgroup v2 (1 to 10,000, usually 100) and v1 (from 2, usually 1,024)."""
_LEAST_BANDWIDTH_PERCENT = 10
_WITHOUT_GROUPS = ("affinity", "nice")


@dataclass(frozen=True)
class KernelFiles:
    """Where the kernel's files are; tests have trees of their own.

    Attributes:
        cgroup: Where cgroups are mounted: of v2 the root itself, of v1 a folder for each controller.
        resctrl: Where resctrl is mounted.
        proc: Where processes are listed.
        node: Where memory nodes are listed.
    """

    cgroup: Path = Path("/sys/fs/cgroup")
    resctrl: Path = Path("/sys/fs/resctrl")
    proc: Path = Path("/proc")
    node: Path = Path("/sys/devices/system/node")

    def remove_group(self, group: Path) -> None:
        """Remove a group, which has no members any more: the kernel's files in it go with it."""
        group.rmdir()


@dataclass(frozen=True)
class Isolation:
    """What a program is held back by.

    Attributes:
        apart: Processors that what is protected does not use.
    """

    controls: tuple[Control, ...]
    apart: tuple[int, ...]


def require_possible(controls: Sequence[Control], files: KernelFiles | None = None) -> None:
    """Refuse controls that this kernel does not have, or that need rights which we do not have."""
    for control in controls:
        if control not in _WITHOUT_GROUPS:
            _parent(control, files or KernelFiles())


@contextmanager
def isolated(processes: Collection[int], isolation: Isolation, files: KernelFiles | None = None) -> Iterator[None]:
    """Hold processes back, with all threads and children that they have and will have, until the body ends.

    Raises:
        IrbenchError: The kernel refuses it.
    """
    files = files or KernelFiles()
    with ExitStack() as undo:
        for control in isolation.controls:
            try:
                if control in _WITHOUT_GROUPS:
                    _hold_back(processes, control, isolation, files)
                else:
                    undo.enter_context(_in_group(processes, control, isolation, files))
            except OSError as error:
                raise IrbenchError(
                    f"The kernel refuses {control}: {error.strerror}.", hint="Run as root, or leave the control out."
                ) from error
        yield


def remove_left_groups(files: KernelFiles | None = None) -> tuple[Path, ...]:
    """Remove the groups of processes that were killed before they could, and return them."""
    files = files or KernelFiles()
    removed: list[Path] = []
    for folder in (files.resctrl, files.cgroup, *_folders(files.cgroup)):
        for group in folder.glob(f"{_PREFIX}*"):
            maker = group.name.removeprefix(_PREFIX).partition("-")[0]
            if maker.isdecimal() and not (files.proc / maker).exists():
                _remove(group, files)
                removed.append(group)
    return tuple(removed)


def _folders(folder: Path) -> list[Path]:
    try:
        return [each for each in folder.iterdir() if each.is_dir() and not each.name.startswith(_PREFIX)]
    except OSError:
        return []


def _hold_back(processes: Collection[int], control: Control, isolation: Isolation, files: KernelFiles) -> None:
    for thread in _threads(processes, files):
        with suppress(ProcessLookupError):  # it may have ended
            if control == "affinity":
                os.sched_setaffinity(thread, isolation.apart)
            else:
                os.setpriority(os.PRIO_PROCESS, thread, _LOWEST_NICE)
    if control == "nice":
        _lower_sessions(processes, files)


def _lower_sessions(processes: Collection[int], files: KernelFiles) -> None:
    """Lower sessions that processes lead: where the kernel groups tasks by session, nice counts only within one.

    Source: sched(7), "The autogroup feature".
    """
    for process in processes:
        group = files.proc / str(process) / "autogroup"
        with suppress(ProcessLookupError, FileNotFoundError):  # it may have ended
            if os.getsid(process) == process and group.exists():
                group.write_text(f"{_LOWEST_NICE}\n")


def _threads(processes: Collection[int], files: KernelFiles) -> Iterator[int]:
    """Yield the threads of processes, also those that are started meanwhile by one that nothing was done to yet.

    What is done to a thread, those that it starts inherit. One may end before it is yielded.
    """
    known: set[int] = set()
    while new := [thread for process in processes for thread in _listed(process, files) if thread not in known]:
        known.update(new)
        yield from new


def _listed(process: int, files: KernelFiles) -> list[int]:
    try:
        return [int(each.name) for each in (files.proc / str(process) / "task").iterdir()]
    except (ProcessLookupError, FileNotFoundError):  # it has ended
        return []


@contextmanager
def _in_group(processes: Collection[int], control: Control, isolation: Isolation, files: KernelFiles) -> Iterator[None]:
    parent = _parent(control, files)
    group = parent / f"{_PREFIX}{os.getpid()}-{min(processes)}-{control}"
    group.mkdir()
    try:
        for name, text in _settings(control, isolation, parent, files).items():
            (group / name).write_text(f"{text}\n")
        members = _members(parent)
        for member in _threads(processes, files) if members == "tasks" else processes:
            with suppress(ProcessLookupError), (group / members).open("a") as listed:
                listed.write(f"{member}\n")
        yield
    finally:
        _remove(group, files)


def _settings(control: Control, isolation: Isolation, parent: Path, files: KernelFiles) -> dict[str, str]:
    """Return what is written into a group, by the file's name, in order."""
    if control in ("cpuset", "memory-node"):
        effective = "cpuset.{}.effective" if (parent / "cgroup.controllers").exists() else "cpuset.{}"
        cpus, nodes = (read_text(parent / effective.format(name)) for name in ("cpus", "mems"))
        if control == "cpuset":
            return {"cpuset.cpus": ",".join(map(str, isolation.apart)), "cpuset.mems": nodes}
        return {"cpuset.cpus": cpus, "cpuset.mems": _other_node(isolation, files)}
    if control == "weight":
        return {name: text for name, text in _LEAST_WEIGHT.items() if _has(parent, name)}
    return {"schemata": _schemata(control, read_text(parent / "schemata"), files)}


def _has(parent: Path, name: str) -> bool:
    is_unified = (parent / "cgroup.controllers").exists()
    return is_unified == (name == "cpu.weight")


def _other_node(isolation: Isolation, files: KernelFiles) -> str:
    """Return a memory node all of whose processors what is protected does not use."""
    for node in sorted(files.node.glob("node[0-9]*")):
        if set(parse_cpu_list(read_text(node / "cpulist"))) <= set(isolation.apart):
            return node.name.removeprefix("node")
    raise IrbenchError(
        "There is no memory node without processors of the model.", hint="Leave memory-node out, or give --cpus."
    )


def _schemata(control: Control, all_of_it: str, files: KernelFiles) -> str:
    """Return the lines of a group's ``schemata``: the fewest ways of each cache, or the least bandwidth.

    ``L3:0=fffff;1=fffff`` has a mask of ways for each cache, ``MB:0=100;1=100`` percentages.
    """
    wanted = "MB" if control == "memory-bandwidth" else "L3"
    lines = [line.strip() for line in all_of_it.splitlines() if line.strip().startswith(f"{wanted}:")]
    if not lines:
        raise IrbenchError(
            f"resctrl has no {wanted} here, which {control} needs.", hint="The processor lacks it: leave it out."
        )
    name, _, domains = lines[0].partition(":")
    info = files.resctrl / "info" / name
    least = (
        read_text(info / "min_bandwidth") or str(_LEAST_BANDWIDTH_PERCENT)
        if wanted == "MB"
        else f"{(1 << int(read_text(info / 'min_cbm_bits') or 1)) - 1:x}"
    )
    caches = (domain.partition("=")[0] for domain in domains.split(";"))
    return f"{name}:{';'.join(f'{cache}={least}' for cache in caches)}"


def _parent(control: Control, files: KernelFiles) -> Path:
    """Return the folder below which a group of a control is made."""
    if control in ("cache", "memory-bandwidth"):
        if not (files.resctrl / "schemata").exists():
            raise IrbenchError(
                f"{control} needs resctrl, which this kernel does not offer or which is not mounted.",
                hint="Mount it: sudo mount -t resctrl resctrl /sys/fs/resctrl (CONFIG_X86_CPU_RESCTRL)",
            )
        return _writable(files.resctrl, control)
    name = "cpu" if control == "weight" else "cpuset"
    if (files.cgroup / "cgroup.controllers").exists():
        if name not in read_text(files.cgroup / "cgroup.subtree_control").split():
            raise IrbenchError(
                f"{control} needs the {name} controller, which cgroups below {files.cgroup} do not have.",
                hint=f"Enable it: echo +{name} | sudo tee {files.cgroup}/cgroup.subtree_control",
            )
        return _writable(files.cgroup, control)
    if not (files.cgroup / name / "tasks").exists():
        raise IrbenchError(
            f"{control} needs the {name} controller of cgroups, which is not mounted.",
            hint="Leave the control out, or mount cgroups.",
        )
    return _writable(files.cgroup / name, control)


def _writable(folder: Path, control: Control) -> Path:
    if not os.access(folder, os.W_OK):
        raise IrbenchError(f"{control} needs the right to write {folder}.", hint="Run as root, or leave it out.")
    return folder


def _remove(group: Path, files: KernelFiles) -> None:
    """Remove a group; its members go back to the one above, as those of resctrl do by themselves."""
    members = _members(group.parent)
    for member in read_text(group / members).split() if group.parent != files.resctrl else ():
        with suppress(OSError), (group.parent / members).open("a") as listed:  # it may have ended
            listed.write(f"{member}\n")
    files.remove_group(group)


def _members(folder: Path) -> str:
    return "tasks" if (folder / "tasks").exists() else "cgroup.procs"
