"""Write the keywords of Python's functions from the options: ``python -m irbench.cli.keyword_files``.

Type checkers and editors read signatures and do not run code, so what they are to show is written down, beside the
options of each feature.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import irbench
from irbench import features
from irbench.options.option import CommandOptions, keyword_descriptions

_SHARED = "irbench.options.run"
_NAMES = {
    "collections.abc": ("Iterable", "Mapping"),
    "datetime": ("timedelta",),
    "os": ("PathLike",),
    "typing": ("Any", "Literal", "Required", "TypedDict"),
    "irbench.options.input_request": ("Data",),
    "irbench.options.own_code": ("OwnCells", "OwnMetric"),
    "irbench.options.values": ("RunName",),
}
"""What the types of options consist of."""


def keywords_modules() -> Mapping[Path, str]:
    """Return the text of each module of keywords, by its path."""
    return dict(map(_module, _modules_of_options()))


def _modules_of_options() -> Iterator[str]:
    yield _SHARED
    for folder in pkgutil.iter_modules(features.__path__):
        module = f"{features.__name__}.{folder.name}.options"
        if find_spec(module) and any(command.in_python for command in _declared(module)):
            yield module


def _declared(module: str) -> list[CommandOptions[Any]]:
    return [value for value in vars(import_module(module)).values() if isinstance(value, CommandOptions)]


def _module(options: str) -> tuple[Path, str]:
    classes = "\n\n".join(_class(command) for command in _declared(options) if command.in_python)
    imports = "\n".join(_imports(classes)).replace("\nfrom irbench", "\n\nfrom irbench", 1)
    text = (
        f'"""Keywords of Python, written by ``make generated`` from :mod:`{options}`; change that."""\n\n'
        f"from __future__ import annotations\n\n{imports}\n\n{classes}\n"
    )
    return Path(irbench.__file__).parents[1].joinpath(*options.split(".")).with_name("keywords.py"), text


def _imports(classes: str) -> Iterator[str]:
    for module, names in _NAMES.items():
        used = [name for name in names if re.search(rf"\b{name}\b(?!`)", classes)]
        if used:
            yield f"from {module} import {', '.join(used)}"


def _class(command: CommandOptions[Any]) -> str:
    described_as = "\n".join(f"    {line}" for text in keyword_descriptions(command) for line in text.splitlines())
    fields = "\n".join(_field(name, command) for name in command.options)
    name = "".join(map(str.capitalize, command.name.split("_")))
    return (
        f"\nclass {name}Keywords(TypedDict, total=False):\n"
        f'    """The keywords of :func:`irbench.{command.name}`; ``None`` is the default of each.\n\n'
        f'    Attributes:\n{described_as}\n    """\n\n{fields}'
    )


def _field(name: str, command: CommandOptions[Any]) -> str:
    option = command.options[name]
    return f"    {name}: " + (f"Required[{option.kind.given}]" if option.required else f"{option.kind.given} | None")


if __name__ == "__main__":
    for path, text in keywords_modules().items():
        path.write_text(text)
