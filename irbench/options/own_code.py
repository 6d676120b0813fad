"""The user's own code: rows, and measures of accuracy with the least that they must be."""

from __future__ import annotations

import inspect
import math
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from irbench.options.pipeline_stages import Stages, kept_stages, require_stages
from irbench.options.values import text
from irbench.spec import Bound, Program
from irbench.system.file_states import exists

OwnCells: TypeAlias = Mapping[str, str | Sequence[str] | Callable[..., Any] | Stages]
"""By row: ``module:function``, a command, or the address of a server's model, as a text; the words of a command; a
function; or stages in order."""
Programs: TypeAlias = Mapping[str, Program]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_CALLABLE = re.compile(r"([\w./-]+|.+\.(py|pickle|json)):[A-Za-z_]\w*")


def cell_of_text(text: str) -> tuple[str, Program]:
    """Return the name and the code of ``name=module:function`` or ``name=command``.

    Raises:
        ValueError: It is neither.
    """
    name, equals, code = text.partition("=")
    if not (equals and code.strip()):
        raise ValueError(f"{text!r} lacks a name, or a command or module:function")
    return _name(name.strip()), _program(code.strip())


def cells(value: OwnCells) -> Programs:
    """Return the code of each row: of ``{"mine": my_function}`` or ``{"mine": "./loop {model}"}``.

    Raises:
        TypeError: One is neither a text nor a list of words nor a function nor a mapping of stages.
        ValueError: A name is none, a function cannot be found by its name, or stages are none.
    """
    if not isinstance(value, Mapping):
        raise TypeError(f"{value!r} is not a mapping from names to functions or commands")
    return {_name(text(name)): _program_of_value(name, code) for name, code in value.items()}


def _name(name: str) -> str:
    if _NAME.fullmatch(name) is None:
        raise ValueError(
            f"{name!r} is not a valid name of a row: at most 40 letters, digits, points, dashes and underscores"
        )
    return name


def _program(code: str) -> Program:
    try:
        words = shlex.split(code)
    except ValueError as error:
        raise ValueError(f"{code!r} cannot be split into words ({error})") from None
    if len(words) == 1 and words[0].startswith(("http://", "https://")):
        return Program("server", _model_address(words[0]))
    is_callable = len(words) == 1 and _CALLABLE.fullmatch(words[0]) is not None and not exists(Path(words[0]))
    return Program("callable", words[0]) if is_callable else Program("command", code)


def _model_address(address: str) -> str:
    if re.fullmatch(r"https?://[^/\s@]+/(?:[^\s?#]+/)?v2/models/[^/\s?#]+(?:/versions/[^/\s?#]+)?/?", address) is None:
        raise ValueError(f"{address!r} is not the address of a model: http://host:port/v2/models/NAME")
    return address


def program_text(program: Program) -> str:
    """Return the code of a row as plans have it, which is read as the same: a path with a blank is in quotes."""
    return shlex.quote(program.target) if program.kind == "callable" else program.target


def _program_of_value(name: str, code: object) -> Program:
    if isinstance(code, str):
        return cell_of_text(f"{name}={code}")[1]
    if isinstance(code, list | tuple):
        if not code:
            raise ValueError("a command has at least one word")
        return Program("command", shlex.join(str(word) for word in code))
    if isinstance(code, Mapping):
        require_stages(code, name)
        texts = {stage: own if isinstance(own, str) else target_of(own) for stage, own in code.items()}
        return Program("callable", kept_stages(texts))
    if callable(code):
        return Program("callable", target_of(code))
    raise TypeError(f"{code!r} is not a function, a command, module:function or a mapping of stages")


def target_of(function: Callable[..., Any]) -> str:
    """Return where a worker finds a function: each is a process of its own, which imports it, or reads it from a file.

    Raises:
        ValueError: It cannot be imported, and uses something that cannot be written to a file.
    """
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    if module is None or not name.isidentifier() or getattr(sys.modules.get(module), name, None) is not function:
        return _kept(function)  # a lambda, a function within another one, or an object that can be called
    if module == "__main__":
        file = getattr(sys.modules["__main__"], "__file__", None)
        return f"{Path(file).resolve()}:{name}" if str(file).endswith(".py") and file is not None else _kept(function)
    file = Path(inspect.getsourcefile(function) or "")
    # beside a script or a notebook, whose folder another process does not search; a package is found by its name
    is_module_alone = "." not in module and file.suffix == ".py" and file.name != "__init__.py"
    return f"{file if is_module_alone else module}:{name}"


def _kept(function: Callable[..., Any]) -> str:
    from irbench.options.pickled_functions import kept_function

    return kept_function(function)


OwnMetric: TypeAlias = str | Callable[..., Any] | tuple[Callable[..., Any], str]
"""``file.py:fn>=0.9``, a function of a module, or a function with its limit: ``(fn, ">=0.9")``."""

_BOUNDS: dict[str, Bound] = {">=": "at-least", "<=": "at-most"}
_SIGNS = {bound: sign for sign, bound in _BOUNDS.items()}
FACTORY_PARAMETER = "cell"
"""What the first parameter of a function is called that makes the one to be timed: what it is told of the row."""
_EXAMPLE = "file.py:fn>=0.9 or package.module:fn<=0.1"


@dataclass(frozen=True)
class Metric:
    """The user's own measure.

    Attributes:
        function: ``module:function`` or ``path/to/file.py:function``.
        bound: Whether the limit is the least or the largest value.
        limit: ``None`` where ``--min-accuracy`` has it.
    """

    function: str
    bound: Bound = "at-least"
    limit: float | None = None


def metric(value: OwnMetric) -> Metric:
    """Return a measure: of ``"file.py:fn>=0.9"``, a function, or ``(function, ">=0.9")``.

    Raises:
        TypeError: It is not one of them.
        ValueError: It names no function that another process can import, or the limit is not a number.
    """
    if isinstance(value, str):
        function, sign, limit = _split(value)
        target = cell_of_text(f"metric={function}")[1]
        if target.kind != "callable":
            raise ValueError(f"{function!r} is not module:function or path/to/file.py:function")
        return _metric(target.target, sign, limit)
    if isinstance(value, tuple) and len(value) == 2 and callable(value[0]):
        _, sign, limit = _split(f"fn{value[1]}")
        return _metric(target_of(value[0]), sign, limit)
    if callable(value):
        return Metric(target_of(value))
    raise TypeError(f"{value!r} is neither a function nor a text such as {_EXAMPLE}")


def min_accuracy(value: str | float) -> float:
    """Return a share, or the least value of a measure: of ``"99%"``, ``"0.99"`` or 0.99.

    Raises:
        ValueError: It is not a number.
    """
    if isinstance(value, str) and value.strip().endswith("%"):
        return _number(value.strip().removesuffix("%")) / 100
    return _number(value)


def metric_text(own: Metric) -> str:
    """Return a measure as the command line takes it: ``file.py:fn>=0.9``; a path with a blank is in quotes."""
    function = shlex.quote(own.function)
    return function if own.limit is None else f"{function}{_SIGNS[own.bound]}{own.limit!r}"


def _split(text: str) -> tuple[str, str, str]:
    """Return what stands before a comparison, its sign and what follows; the last two empty without one."""
    match = re.fullmatch(r"([^<>=]+?)\s*(>=|<=)\s*([^<>=]+)", text.strip())
    if match is not None:
        return match[1], match[2], match[3]
    if re.search(r"[<>=]", text):
        raise ValueError(f"{text!r} is not written like {_EXAMPLE}")
    return text.strip(), "", ""


def _metric(function: str, sign: str, limit: str) -> Metric:
    return Metric(function) if not sign else Metric(function, _BOUNDS[sign], _number(limit))


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError(f"{value!r} is not a number")
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{value!r} is not a number")
    return number
