"""The user's own code, refused where it cannot be found."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from irbench.core import registry
from irbench.core.suggestions import nearest
from irbench.errors import IrbenchError
from irbench.options.own_code import Programs
from irbench.spec import Program
from irbench.system.file_states import is_file
from irbench.system.programs import find_program

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def require_found(programs: Programs) -> None:
    """Refuse code that is certainly not there, before anything is made for the run. Nothing of it is run.

    Raises:
        IrbenchError: A name is a backend's, or a function, a file or a program cannot be found.
    """
    for name, program in programs.items():
        if name in registry.names(registry.BACKENDS):
            raise IrbenchError(f"--cell {name}=... has the name of a backend.", hint="Call it something else.")
        if program.kind == "callable":
            require_function(program.target)
        else:
            _require_command(program.target)


def program_files(program: Program) -> tuple[Path, ...]:
    """Return the files of the user's own code, as far as they are known without running it.

    These are the file of a function's module, or a command's program and those of its arguments that are files.
    """
    from irbench.exporter.source import find_users_module

    if program.kind == "callable":
        module = program.target.rpartition(":")[0]
        found = Path(module) if module.endswith(".py") else find_users_module(module, [Path.cwd()])
        return (found,) if found is not None and is_file(found) else ()
    command, *arguments = shlex.split(program.target)
    words = (find_program(command) or command, *arguments)
    return tuple(path for path in map(Path, words) if is_file(path))


def require_function(target: str) -> None:
    """Refuse a function that is certainly not there; nothing of it is run.

    Raises:
        IrbenchError: Its file or module cannot be found.
    """
    from irbench.exporter.source import Source, require_code

    module = target.rpartition(":")[0]
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
