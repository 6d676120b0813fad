"""Write the keywords of Python's functions from the options: ``python -m irbench.options.generating``.

Type checkers and editors read signatures and do not run code, so what they are to show is written down.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from irbench.options.commands import AB, BISECT, PROFILE, REDUCE, SOAK, TUNE
from irbench.options.model_commands import COST, DOCTOR, EXPORT, INSPECT, OPTIMIZE, VERIFY
from irbench.options.option import CommandOptions, described, flag_of
from irbench.options.run import RESUME, RUN
from irbench.options.stored_run_commands import COMPARE, HISTORY, REPLAY, RESULTS, SWEEP

_HEADER = '''"""The keywords of Python's functions, as checkers and editors read them.

Written by ``make generated`` from the declarations in :mod:`irbench.options`; change those.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from os import PathLike
from typing import Any, Literal, Required, TypedDict

from irbench.options.input_request import Data
from irbench.options.own_code import OwnCells, OwnMetric
from irbench.options.values import RunName
'''
_COMMANDS: tuple[CommandOptions[Any], ...] = (
    RUN, AB, SOAK, TUNE, PROFILE, REDUCE, BISECT,
    VERIFY, EXPORT, OPTIMIZE, INSPECT, COST, DOCTOR,
    RESULTS, COMPARE, HISTORY, REPLAY, RESUME, SWEEP,
)  # fmt: skip


def keywords_module() -> str:
    """Return the text of ``irbench/options/keywords.py``."""
    return "\n\n".join([_HEADER.rstrip(), *map(_class, _COMMANDS)]) + "\n"


def keyword_descriptions(command: CommandOptions[Any]) -> Iterator[str]:
    """Yield a paragraph for each keyword of a function."""
    flags = {flag_of(name, declared): name for name, declared in command.options.items()}
    for name, declared in command.options.items():
        text = described(name, declared, flags)
        yield textwrap.fill(text, 116, initial_indent="    ", subsequent_indent="        ", break_on_hyphens=False)


def _class(command: CommandOptions[Any]) -> str:
    described_as = "\n".join(f"    {line}" for text in keyword_descriptions(command) for line in text.splitlines())
    fields = "\n".join(_field(name, command) for name in command.options)
    return (
        f"\nclass {command.name.capitalize()}Keywords(TypedDict, total=False):\n"
        f'    """The keywords of :func:`irbench.{command.name}`; ``None`` is the default of each.\n\n'
        f'    Attributes:\n{described_as}\n    """\n\n{fields}'
    )


def _field(name: str, command: CommandOptions[Any]) -> str:
    found = command.options[name]
    return f"    {name}: " + (f"Required[{found.kind.given}]" if found.required else f"{found.kind.given} | None")


if __name__ == "__main__":
    (Path(__file__).parent / "keywords.py").write_text(keywords_module())
