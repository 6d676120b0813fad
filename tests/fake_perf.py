"""A perf that counts what a script says, called as irbench calls perf; it needs no counters and no permission.

``FAKE_PERF`` names a JSON file:

``version``
    Of perf; without it the program says ``says`` and fails, as the script of a distribution does.
``events``
    The value of each event as perf writes it, in units of the kernel: a number, or ``<not supported>``.
``refused``
    What perf says of events that it cannot open; it then fails.
``metrics``
    By metric group, the lines that it adds.
``user_only``
    Whether it may count user space alone, and adds a ``u`` to the names of events that were asked for as a whole.
``names``
    What it calls an event, where that is not what it was asked for.
``running``
    By event, the percentage of the time that it was on a counter.
``counters``
    How many events it can count at once; further ones are not counted.
``trailing_comma``
    Whether objects end with a comma, as those of events without a metric do in some versions.
``busy_turns``
    How often it turns a loop after it has confirmed ``disable``; a signal that comes meanwhile ends it before it writes
    the last step, as it does perf.
``toplev_says``
    What toplev says before it ends where it should attach, once it has attached ``toplev_lives`` times.
``toplev_code``
    What toplev exits with.
``dies_in_steps``
    What it says before it ends where it should attach and tell counts in steps.
``dies``
    What it says before it ends where it should attach.

What it is called with is appended to ``calls`` beside that file. Attached to a process, it counts nothing until it was
told ``enable`` and then ``disable``.
"""

from __future__ import annotations

import json
import math
import os
import re
import signal
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    import pytest

SOFTWARE = {
    "task-clock": 20.0,
    "context-switches": 12,
    "cpu-migrations": 1,
    "minor-faults": 480,
    "major-faults": 0,
}
HARDWARE = {
    "cycles": 60_000_000,
    "instructions": 150_000_000,
    "cache-references": 2_000_000,
    "cache-misses": 500_000,
    "L1-dcache-loads": 40_000_000,
    "L1-dcache-load-misses": 1_000_000,
    "branches": 10_000_000,
    "branch-misses": 20_000,
}
TOPDOWN_L1 = (
    '{"event-runtime" : 20000000, "pcnt-running" : 100.00, "metricgroup" : "TopdownL1"}',
    '{"metric-value" : "43.200000", "metric-unit" : "%  tma_backend_bound", "metric-threshold" : "bad"}',
    '{"metric-value" : "7.100000", "metric-unit" : "%  tma_bad_speculation", "metric-threshold" : "good"}',
    '{"metric-value" : "29.200000", "metric-unit" : "%  tma_frontend_bound", "metric-threshold" : "bad"}',
    '{"metric-value" : "20.500000", "metric-unit" : "%  tma_retiring", "metric-threshold" : "good"}',
)
UNKNOWN = "event syntax error: 'nonsense'\n                     \\___ parser error"
TOPLEV = """# 4.8-full on a processor
CPUs,Area,Value,Unit,Description,Sample,Stddev,Multiplex,Bottleneck,Idle
C0,Frontend_Bound,29.2,% Slots,,,0.0,100.0,,
C0,Frontend_Bound.Fetch_Latency,12.5,% Slots,,,0.0,97.0,,
C0,Backend_Bound.Memory_Bound,31.0,% Slots,,,0.0,97.0,<==,
C0,Info.Thread.IPC,2.5,Metric,,,0.0,97.0,,
"""


def install(folder: Path, script: Mapping[str, Any], patch: pytest.MonkeyPatch, *, toplev: bool = False) -> Path:
    """Put this perf first on the path, and return the file that its calls are written to."""
    programs = folder / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    for name in ("perf", *(("toplev",) if toplev else ())):
        program = programs / name
        program.write_text(
            f"#!{sys.executable} -IS\nimport sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
            f"from fake_perf import {name}_main; {name}_main()\n"
        )
        program.chmod(0o755)
    known = folder / "perf.json"
    known.write_text(json.dumps({"version": "6.8.12", "events": SOFTWARE, **script}))
    patch.setenv("FAKE_PERF", str(known))
    patch.setenv("PATH", os.pathsep.join([str(programs), os.environ["PATH"]]))
    return folder / "calls"


def uninstall(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Leave no perf on the path."""
    folder.mkdir(exist_ok=True)
    patch.setenv("PATH", str(folder))


def perf_main() -> None:
    """Do what perf would."""
    known = Path(os.environ["FAKE_PERF"])
    with known.with_name("calls").open("a") as calls:
        calls.write(f"{' '.join(sys.argv[1:])}\n")
    script: dict[str, Any] = json.loads(known.read_text())
    match sys.argv[1:]:
        case ["--version"]:
            _tell_version(script)
        case ["list", "metricgroup"]:
            sys.stdout.write("\nMetric Groups:\n\n" + "\n".join(script.get("metrics", {})) + "\n")
        case ["stat", "-j", *arguments]:
            _refuse(arguments, script)
            _attach(arguments, script) if "-p" in arguments else sys.stderr.write(_counts(arguments, script))
        case words:
            _fail(f"no such command: {words}")


def toplev_main() -> None:
    """Do what toplev would: count while its command runs."""
    import subprocess

    known = Path(os.environ["FAKE_PERF"])
    script: dict[str, Any] = json.loads(known.read_text())
    attached = known.with_name("toplev-attached")
    before = attached.stat().st_size if attached.exists() else 0
    if "toplev_says" in script and before >= script.get("toplev_lives", 0):
        _fail(script["toplev_says"])
    attached.write_text("." * (before + 1))
    arguments = sys.argv[1:]
    subprocess.run(arguments[arguments.index("cat") :], check=True)
    Path(arguments[arguments.index("-o") + 1]).write_text(TOPLEV)
    raise SystemExit(script.get("toplev_code", 0))


def _tell_version(script: Mapping[str, Any]) -> None:
    if not script.get("version"):
        _fail(script.get("says", ""), code=2)
    sys.stdout.write(f"perf version {script['version']}\n")


def _refuse(arguments: list[str], script: Mapping[str, Any]) -> None:
    for event in _events(arguments):
        if event in script.get("refused", {}):
            _fail(script["refused"][event], code=129)


def _attach(arguments: list[str], script: Mapping[str, Any]) -> None:
    if script.get("dies"):
        _fail(script["dies"], code=255)
    if script.get("dies_in_steps") and "-I" in arguments:
        _fail(script["dies_in_steps"], code=255)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    control, acknowledged = arguments[arguments.index("--control") + 1].removeprefix("fifo:").split(",")
    words: list[str] = []
    try:
        with Path(control).open("rb", buffering=0) as told, Path(acknowledged).open("wb", buffering=0) as answers:
            for line in told:
                words.append(line.decode().strip())
                answers.write(b"ack\n\0")
                if words[-1] == "disable" and "busy_turns" in script:
                    _compute(script["busy_turns"])
    except KeyboardInterrupt:
        counted = words == ["ping", "enable", "disable"]
        text = _counts(arguments, script, counted=counted)
        Path(arguments[arguments.index("-o") + 1]).write_text(f"# started on a day\n\n{text}")


def _compute(turns: int) -> None:
    signal.signal(signal.SIGINT, lambda *_: os._exit(0))
    for _ in range(turns):
        pass
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _counts(arguments: list[str], script: Mapping[str, Any], *, counted: bool = True) -> str:
    if "-I" not in arguments:
        return "".join(f"{line}\n" for line in _lines(arguments, script, counted=counted))
    steps = ("0.100123", "0.200246")
    return "".join(
        f'{{"interval" : {step}, {line[1:]}\n'
        for step in steps
        for line in _lines(arguments, script, counted=counted)
    )  # fmt: skip


def _lines(arguments: list[str], script: Mapping[str, Any], *, counted: bool) -> Iterator[str]:
    for place, event in enumerate(_events(arguments)):
        name = script.get("names", {}).get(event) or re.sub(r"^cpu/.*name=(\w+)/$", r"\1", event)
        has_counter = place < script.get("counters", math.inf)
        value = script["events"].get(name, "<not supported>") if counted and has_counter else "<not counted>"
        share = script.get("running", {}).get(name, 100.0)
        unit = "msec" if name.endswith("clock") else ""
        shown = value if isinstance(value, str) else f"{value:f}"
        end = ", }" if script.get("trailing_comma") else "}"
        yield (
            f'{{"counter-value" : "{shown}", "unit" : "{unit}", "event" : "{_told(name, script)}",'
            f' "event-runtime" : 20000000, "pcnt-running" : {share:.2f}{end}'
        )
    if "-M" in arguments:
        yield from script.get("metrics", {}).get(arguments[arguments.index("-M") + 1], ())


def _told(name: str, script: Mapping[str, Any]) -> str:
    if not script.get("user_only") or name.endswith(":u"):
        return name
    return f"{name}u" if set(name) & set("/:") else f"{name}:u"


def _events(arguments: list[str]) -> Iterator[str]:
    for place, argument in enumerate(arguments):
        if argument == "-e":
            yield from re.findall(r"[^,{}/]+(?:/[^/]*/)?", arguments[place + 1])


def _fail(said: str, code: int = 1) -> NoReturn:
    sys.stderr.write(f"{said}\n")
    raise SystemExit(code)
