"""The declaration of an option, and how the classes that hold them are read."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar, cast, overload

from irbench.core.suggestions import did_you_mean
from irbench.errors import IrbenchError, UnknownKeyword
from irbench.options import kinds
from irbench.options.kinds import SINGLE, Kind
from irbench.options.pickled_functions import NotPicklable

_KEY = "option"
T = TypeVar("T")
D = TypeVar("D")
C = TypeVar("C")


@dataclass(frozen=True)
class Option:
    """What is known of an option besides its name.

    Attributes:
        kind: The form of its values.
        help: One sentence, for the command line, Python and plans.
        default: Held where nothing was given.
        default_text: The default in words, where the value does not say it.
        flag: On the command line, where that is not made of the name.
        short: A second flag of one letter.
        metavar: On the command line, where the kind's example does not fit.
        group: The heading in the help that it stands below; empty for that of the option before it.
        excludes: Options that cannot be obeyed together with it, by name or ``name=value``, and why.
        plan: Whether a plan has a list of its values, one value, or no such key.
        required: Whether it must be given.
        changes_cell: Whether a sweep measures again what was measured with another value of it.
        is_looked_up: Whether a sweep checks each value before it begins; otherwise tables that differ in it alone are
            checked once.
    """

    kind: Kind[Any]
    help: str
    default: Any = None
    default_text: str = ""
    flag: str = ""
    short: str = ""
    metavar: str = ""
    group: str = ""
    excludes: Mapping[str, str] = field(default_factory=dict[str, str])
    plan: Literal["list", "single", "none"] = "single"
    required: bool = False
    changes_cell: bool = True
    is_looked_up: bool = True


@overload
def option(kind: Kind[T], help: str, *, required: Literal[True], **facts: Any) -> T: ...
@overload
def option(kind: Kind[T], help: str, *, default: T, **facts: Any) -> T: ...
@overload
def option(kind: Kind[T], help: str, *, default: D, **facts: Any) -> T | D: ...
@overload
def option(kind: Kind[T], help: str, **facts: Any) -> T | None: ...
def option(kind: Kind[Any], help: str, **facts: Any) -> Any:  # noqa: A002
    """Return a field of a dataclass that declares an option; for type checkers, what the field holds."""
    return field_of(Option(kind, help, **facts))


def flag(help: str, **facts: Any) -> bool:  # noqa: A002
    """Return a field that declares an option without a value: true where it is given."""
    declared: bool = field_of(Option(kinds.FLAG, help, default=False, **facts))
    return declared


def field_of(declared: Option) -> Any:
    """Return a field of a dataclass that a declaration makes; empty mappings are made for each object."""
    if declared.required:
        return field(metadata={_KEY: declared})
    if declared.default == {}:
        return field(default_factory=dict, metadata={_KEY: declared})
    return field(default=declared.default, metadata={_KEY: declared})


def options_of(owner: Any) -> dict[str, Option]:
    """Return the options that a dataclass declares, by name."""
    return {item.name: item.metadata[_KEY] for item in dataclasses.fields(owner) if _KEY in item.metadata}


Readers = Mapping[str, tuple[str, Callable[[Any], Any]]]
"""By keyword: an example, and what reads a value, raising ``ValueError`` for any other."""


@dataclass(frozen=True)
class CommandOptions(Generic[C]):
    """The options of a command: its own, and those of a run that it shares.

    Attributes:
        name: Of the command, and of the function in Python.
        own: The class that declares its own options.
        shared: The class that declares those of a run; ``None`` where none is shared as it is.
        sections: The names of its options by the heading of the help that they stand below, shared ones among them;
            ``None`` for its own options in their order.
        changes: Attributes of options that are told differently, by name.
        single: Options with a list of values, of which it takes one.
        in_python: Whether a function of Python takes them as keywords.
    """

    name: str
    own: type[C]
    shared: type | None = None
    sections: Mapping[str, tuple[str, ...]] | None = None
    changes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    single: tuple[str, ...] = ()
    in_python: bool = True

    @cached_property
    def own_options(self) -> Mapping[str, Option]:
        """By name."""
        return options_of(self.own)

    @cached_property
    def options(self) -> Mapping[str, Option]:
        """All of them by name, in the order of the help."""
        known = {**({} if self.shared is None else options_of(self.shared)), **self.own_options}
        known |= {name: replace(known[name], **changes) for name, changes in self.changes.items()}
        known |= {name: replace(known[name], kind=SINGLE[known[name].kind]) for name in self.single}
        if self.sections is None:
            return known
        return {name: replace(known[name], group=heading) for heading, names in self.sections.items() for name in names}

    def split(self, values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the values of its own options, and those of the shared ones."""
        own = {name: value for name, value in values.items() if name in self.own_options}
        return own, {name: value for name, value in values.items() if name not in own}

    def read(self, keywords: Mapping[str, object]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what keywords of Python ask for, split as :meth:`split` does.

        Raises:
            TypeError: There is no such keyword, or one that is required is missing.
            IrbenchError: A value is not one that the keyword takes.
        """
        missing = [name for name, declared in self.options.items() if declared.required and name not in keywords]
        if missing:
            raise UnknownKeyword(f"{self.name}() missing a required keyword argument: {missing[0]!r}")
        return self.split(read_keywords(self.name, keywords, self.readers))

    def from_keywords(self, keywords: Mapping[str, object], **others: Any) -> C:
        """Return its own options as keywords of Python ask for them."""
        own, _ = self.read(keywords)
        return self.own(**others, **own)

    @property
    def readers(self) -> Readers:
        """What reads each keyword."""
        return {name: (declared.kind.example, declared.kind.read) for name, declared in self.options.items()}


def read_keywords(function: str, keywords: Mapping[str, object], readers: Readers) -> dict[str, Any]:
    """Return the values of keywords as their readers return them, without those that are ``None``: the defaults.

    Raises:
        TypeError: There is no such keyword.
        IrbenchError: A value is not one that the keyword takes.
    """
    for keyword in keywords:
        if keyword not in readers:
            hint = did_you_mean(keyword, readers)
            raise UnknownKeyword(f"{function}() got an unexpected keyword argument {keyword!r}. {hint}".rstrip())
    return {
        keyword: _read(keyword, value, *readers[keyword]) for keyword, value in keywords.items() if value is not None
    }


def _read(keyword: str, value: Any, example: str, read: Callable[[Any], Any]) -> Any:
    try:
        return read(value)
    except NotPicklable as error:
        in_file = '{"mine": "my_file.py:infer"}' if isinstance(value, Mapping) else '"my_file.py:infer"'
        raise IrbenchError(
            f"{keyword}={value!r} is not valid: {error}.",
            hint=f"Make it in the function itself, or write the function to a file: {keyword}={in_file}.",
        ) from error
    except (TypeError, ValueError) as error:
        raise IrbenchError(
            f"{keyword}={value!r} is not valid: {error}.", hint=f"Write it like {example}; None is the default."
        ) from error


def refuse_excluded(options: Any, declared: Mapping[str, Option]) -> None:
    """Refuse options that cannot be obeyed together."""
    for name, option in declared.items():
        for other, reason in option.excludes.items():
            other_name, _, value = other.partition("=")
            if _is_given(options, name) and _is_given(options, other_name, value):
                text = " ".join([flag_of(other_name, declared[other_name]), *([value] if value else [])])
                raise IrbenchError(
                    f"{flag_of(name, option)} and {text} cannot be combined: {reason}.", hint="Leave one of them out."
                )


def flag_of(name: str, declared: Option) -> str:
    """Return what an option is called on the command line."""
    return declared.flag or f"--{name.replace('_', '-')}"


def command_words(values: Mapping[str, Any], declared: Mapping[str, Option]) -> Iterator[str]:
    """Yield the words of a command line that ask for options; those at their defaults are left out.

    Args:
        values: By name.
        declared: The options, in the order of their words.
    """
    for name, option in declared.items():
        value, flag = values[name], flag_of(name, option)
        if option.kind.is_flag and value:
            yield flag
        elif value not in (None, option.default):
            for word in option.kind.on_command_line(value):
                yield from (flag, word)


def _is_given(options: Any, name: str, value: str = "") -> bool:
    actual = getattr(options, name)
    return actual == value if value else bool(actual) and actual != (1,)


def _default_text(default: Any) -> str:
    if isinstance(default, tuple):
        return ", ".join(map(str, default))
    return str(default) if default else ""


def described(name: str, declared: Option, flags: Mapping[str, str]) -> str:
    """Return an option as the docstring of a function describes it."""
    example = "" if declared.kind.is_flag else f"for example ``{declared.kind.example}``"
    default = declared.default_text or _default_text(declared.default)
    facts = "; ".join(fact for fact in (example, f"default: {default}" if default else "") if fact)
    text = f"{declared.help.rstrip('.')} ({facts})." if facts else declared.help
    for flag in sorted(flags, key=len, reverse=True):
        text = text.replace(flag, f"``{flags[flag]}``")
    return f"{name}: {text}"


_Function = TypeVar("_Function", bound=Callable[..., Any])


def names_keywords(command: CommandOptions[Any]) -> Callable[[_Function], _Function]:
    """Name each option of a command in a function's signature, docstring and errors; a decorator.

    ``help`` and Shift-Tab in Jupyter read the first two, and show nothing of the keywords behind ``**options``. Errors
    name options as the command line does until they leave the function.

    Args:
        command: What declares them. The function ends in ``**options``, and its docstring has a line for ``options``.
    """

    def named(given: _Function) -> _Function:
        function = _with_errors(given, command)
        function.__signature__ = _with_keywords(inspect.signature(given), command)  # type: ignore[attr-defined]
        if function.__doc__:  # there is none under python -OO
            lines = inspect.cleandoc(function.__doc__).split("\n")
            (place,) = (number for number, line in enumerate(lines) if line.startswith("    options: "))
            following = range(place + 1, len(lines))
            end = next((number for number in following if not lines[number].startswith(" " * 8)), len(lines))
            lines[place:end] = keyword_descriptions(command)
            function.__doc__ = "\n".join(lines)
        return function

    return named


def _with_errors(function: _Function, command: CommandOptions[Any]) -> _Function:
    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        try:
            return function(*arguments, **keywords)
        except IrbenchError as error:
            from irbench.options.python_words import with_keywords

            error.reword(lambda text: with_keywords(text, command.options))
            raise

    return cast("_Function", call)


def keyword_descriptions(command: CommandOptions[Any]) -> Iterator[str]:
    """Yield a paragraph for each keyword of a function."""
    flags = {flag_of(name, declared): name for name, declared in command.options.items()}
    for name, declared in command.options.items():
        text = described(name, declared, flags)
        yield textwrap.fill(text, 116, initial_indent="    ", subsequent_indent="        ", break_on_hyphens=False)


def _shown_default(default: Any) -> Any:
    """Return a default as a signature shows it: ``None`` for empty containers and texts, which mean the same."""
    return None if default in ((), {}, "") else default


def _with_keywords(signature: inspect.Signature, command: CommandOptions[Any]) -> inspect.Signature:
    kept = [item for item in signature.parameters.values() if item.kind is not inspect.Parameter.VAR_KEYWORD]
    keywords = (
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if declared.required else _shown_default(declared.default),
            annotation=f"{declared.kind.given}{'' if declared.required else ' | None'}",
        )
        for name, declared in command.options.items()
    )
    return signature.replace(parameters=[*kept, *keywords])
