"""The user's own code, refused where it cannot be found, and the limit on accuracy that may be measured by it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from irbench.core import registry
from irbench.core.suggestions import nearest
from irbench.errors import IrbenchError
from irbench.options import pipeline_stages
from irbench.options.own_code import Programs
from irbench.options.pickled_functions import file_of, is_kept
from irbench.options.run import RunOptions
from irbench.spec import AccuracyLimit, Program
from irbench.system.file_states import is_file
from irbench.system.programs import find_program

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def require_found(programs: Programs) -> None:
    """Refuse code that is certainly not there, before anything is made for the run. Nothing of it is run."""
    for name, program in programs.items():
        if name in registry.names(registry.BACKENDS):
            raise IrbenchError(f"--cell {name}=... has the name of a backend.", hint="Call it something else.")
        if pipeline_stages.are_kept(program.target):
            _require_stages(name, program.target)
        elif program.kind == "callable":
            require_function(program.target)
            _require_distinct_stages(program)
        elif program.kind == "command":
            _require_command(program.target)


def _require_distinct_stages(program: Program) -> None:
    from irbench.exporter.source import repeated_keys

    module, _, name = program.target.rpartition(":")
    for key in (key for file in program_files(program) for key in repeated_keys(file, module, name)):
        raise IrbenchError(
            f"{program.target} has two stages called {key}, and Python keeps the last one alone.",
            hint="Give each stage a name of its own.",
        )


def _require_stages(name: str, target: str) -> None:
    for text in _stages(name, target).values():
        if pipeline_stages.is_function(text, registry.names(registry.BACKENDS)):
            require_function(text)
        else:
            registry.require_installed(registry.parse_backend(text).name)


def _stages(name: str, target: str) -> Mapping[str, str]:
    try:
        return pipeline_stages.read_stages(target)
    except ValueError as error:
        raise IrbenchError(f"{name}: {error}.", hint="Measure them again from where they are defined.") from error


def program_files(program: Program) -> tuple[Path, ...]:
    """Return the files of the user's own code, as far as they are known without running it.

    These are the file of a function's module, or a command's program and those of its arguments that are files.
    """
    from irbench.exporter.source import find_users_module

    if pipeline_stages.are_kept(program.target):
        functions = (Program("callable", text) for text in _stages("stages", program.target).values() if ":" in text)
        return (file_of(program.target), *(path for function in functions for path in program_files(function)))
    if program.kind == "server":
        return ()
    if program.kind == "callable":
        module = program.target.rpartition(":")[0]
        if is_kept(program.target):
            return (file_of(program.target),) if is_file(file_of(program.target)) else ()
        file = Path(module) if module.endswith(".py") else find_users_module(module, [Path.cwd()])
        return (file,) if file is not None and is_file(file) else ()
    command, *arguments = shlex.split(program.target)
    words = (find_program(command) or command, *arguments)
    return tuple(path for path in map(Path, words) if is_file(path))


def require_function(target: str) -> None:
    """Refuse a function that is certainly not there; nothing of it is run."""
    from irbench.exporter.source import Source, require_code

    module = target.rpartition(":")[0]
    if is_kept(target):
        if not is_file(file_of(target)):
            raise IrbenchError(f"The function in {module} is gone.", hint="Measure it again from where it is defined.")
        return
    if module.endswith(".py") and not is_file(Path(module)):
        raise IrbenchError(f"There is no file {module}.", hint="Check the path.")
    require_code(Source(target), ())


def _require_command(target: str) -> None:
    from irbench.worker.own_code.command_session import PLACEHOLDERS

    program = shlex.split(target)[0]
    if "{" not in program and find_program(program) is None:
        raise IrbenchError(
            f"There is no program {program!r}.",
            hint="A command is a program and its arguments, without a shell; a function is package.module:function or"
            " path/to/file.py:function.",
        )
    for name in _PLACEHOLDER.findall(target):
        meant = None if name in PLACEHOLDERS else nearest(name, PLACEHOLDERS)
        if meant is not None:
            known = ", ".join(f"{{{known}}}" for known in PLACEHOLDERS)
            raise IrbenchError(f"A command cannot have {{{name}}}.", hint=f"Did you mean {{{meant}}}? Known: {known}.")


def accuracy_limit(options: RunOptions) -> AccuracyLimit | None:
    """Return how good answers must be; ``None`` where nothing was asked for."""
    own, least = options.metric, options.min_accuracy
    if own is None:
        return None if least is None else AccuracyLimit(_share(least), classes=options.classes)
    if (own.limit is None) == (least is None):
        raise IrbenchError(
            f"--metric {own.function} has {'two limits' if least is not None else 'no limit'}.",
            hint=f"Write the limit once, in quotes: --metric '{own.function}>=0.9'.",
        )
    require_function(own.function)
    limit = own.limit if least is None else least
    assert limit is not None
    return AccuracyLimit(limit, own.bound, own.function)


def programs_of_limit(limit: AccuracyLimit | None) -> tuple[Program, ...]:
    """Return the user's own code that measures accuracy, if any does."""
    return () if limit is None or not limit.function else (Program("callable", limit.function),)


def _share(value: float) -> float:
    if not 0 < value <= 1:
        raise IrbenchError(
            f"--min-accuracy {value:g} is not a valid share of samples.",
            hint="Write it as 99% or 0.99; 100% is the most.",
        )
    return value
