"""Reading plans: of a TOML file, of one that is shipped, or of a mapping of Python's."""

from __future__ import annotations

import errno
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from irbench.core.suggestions import did_you_mean
from irbench.errors import IrbenchError
from irbench.features.plan.expansion import (
    AXES,
    MOST_COMBINATIONS,
    Doubling,
    Expansion,
    Lists,
    Matrix,
    TooManyCombinations,
    UnmatchedExclusion,
    expand,
)
from irbench.features.serve.options import ServeOptions
from irbench.options.option import flag_of, options_of
from irbench.system.file_access import read_regular
from irbench.system.file_states import is_file

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from irbench.features.plan.document import MatrixDocument, PlanDocument, SettingsDocument

PlanSource: TypeAlias = "str | PathLike[str] | Mapping[str, Any]"

SHIPPED = Path(__file__).parent / "plans"
"""The folder of the plans that come with irbench."""

_MOST_BYTES = 1 << 20
_DEEP_KEY = re.compile(
    r"""(?<![\w"'\\-])(?:(?:[\w-]++|"(?:[^"\\\n]|\\.){0,512}+"|'[^'\n]{0,512}+')[ \t]*+\.[ \t]*+){32}"""
)
"""A key of so many parts, of which no plan has more than five: what tomllib takes for one grows with their square."""
_FIX = "Fix it, for example in an editor."
_DOUBLING_KEYS = ("smallest_batch", "largest_batch", "stop_gain")
_OF_REQUESTS = {
    word for name, own in options_of(ServeOptions).items() for word in (name, flag_of(name, own).lstrip("-"))
}
"""What `irbench serve` takes besides the options of a run, as somebody may write it in a plan."""


@dataclass(frozen=True)
class SweepPlan:
    """A plan that was read and checked."""

    name: str
    folder: Path
    document: Mapping[str, Any]
    expansion: Expansion


def read_plan(source: PlanSource) -> SweepPlan:
    """Return a plan with its cells.

    Args:
        source: A TOML file, the name of a plan that is shipped, or what a file would hold.
    """
    if isinstance(source, Mapping):
        return _plan(source, str(source.get("name") or "sweep"), Path.cwd(), "The plan")
    path = plan_file(str(source))
    document = plan_values(plan_text(path), path)
    folder = Path.cwd() if path.parent == SHIPPED else path.absolute().parent
    return _plan(document, path.stem, folder, str(path))


def plan_values(text: str, path: Path) -> Mapping[str, Any]:
    """Return what the text of a plan's file says, unchecked."""
    try:
        return _parsed(text)
    except (ValueError, RecursionError) as error:  # TOMLDecodeError is one, and so is what numbers without end raise
        raise IrbenchError(f"{path} is not valid TOML: {error}.", hint=_FIX) from error


def _parsed(text: str) -> Mapping[str, Any]:
    if deep := _DEEP_KEY.search(text):
        raise tomllib.TOMLDecodeError(f"A key nests too deep (at line {text.count(chr(10), 0, deep.start()) + 1})")
    return tomllib.loads(text)


def shipped_plans() -> tuple[str, ...]:
    """Return the names of the plans that come with irbench."""
    return tuple(sorted(path.stem for path in SHIPPED.glob("*.toml")))


def summary(name: str) -> str:
    """Return what a plan that is shipped is for: the comment that its file begins with."""
    return (SHIPPED / f"{name}.toml").read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")


def plan_file(name: str) -> Path:
    """Return the file of a plan: a path, or the name of one that is shipped."""
    path = Path(name)
    if is_file(path) or path.suffix == ".toml":
        return path
    known = shipped_plans()
    if name in known:
        return SHIPPED / f"{name}.toml"
    raise IrbenchError(
        f"There is no plan {name!r}.",
        hint=f"{did_you_mean(name, known)}Give a TOML file, or one of: {', '.join(known)}",
    )


def plan_text(path: Path) -> str:
    """Return what the file of a plan says."""
    try:
        return read_regular(path, _MOST_BYTES).decode()
    except OSError as error:
        hint = "Save it to a file first." if error.errno == errno.EINVAL else "Check the path."
        raise IrbenchError(f"{path} cannot be read: {error.strerror or error}.", hint=hint) from error
    except UnicodeDecodeError as error:
        raise IrbenchError(f"{path} is not valid TOML: {error}.", hint=_FIX) from error


def _plan(document: Mapping[str, Any], name: str, folder: Path, called: str) -> SweepPlan:
    checked = _checked(document, called)
    problems = tuple(_contradictions(checked))
    if problems:
        raise plan_error(called, problems)
    try:
        expansion = expand([_matrix(checked, matrix) for matrix in _matrices(checked)], checked.seed)
    except TooManyCombinations as error:
        said = f"its lists have {error.count:,} combinations, where {MOST_COMBINATIONS:,} are the most"
        raise plan_error(called, [said]) from error
    except UnmatchedExclusion as unmatched:
        place = ("matrix", unmatched.matrix, "exclude", unmatched.exclusion)
        raise plan_error(called, [f"{place_text(place)}: it matches no cell"]) from unmatched
    if not expansion.tables:
        raise plan_error(called, ["its exclude leaves no cell"])
    return SweepPlan(checked.name or name, folder, document, expansion)


def _checked(document: Mapping[str, Any], called: str) -> PlanDocument:
    from pydantic import ValidationError

    from irbench.features.plan.document import PlanDocument

    try:
        return PlanDocument.model_validate(dict(document))
    except ValidationError as error:
        errors = error.errors(include_url=False)
        raise plan_error(called, structural_problems(errors, document, _keys)) from error


def _keys(place: Place) -> tuple[str, ...]:
    from irbench.features.plan.document import MatrixDocument, PlanDocument, SettingsDocument

    tables = [part for part in place if isinstance(part, str)]
    forms: Mapping[str, type[PlanDocument | SettingsDocument]] = {"": PlanDocument, "matrix": MatrixDocument}
    form = forms.get(tables[-1] if tables else "", SettingsDocument)
    return tuple(field.alias or name for name, field in form.model_fields.items())


def _matrices(plan: PlanDocument) -> tuple[MatrixDocument, ...]:
    from irbench.features.plan.document import MatrixDocument

    return plan.matrix or (MatrixDocument(),)


def _matrix(plan: PlanDocument, matrix: MatrixDocument) -> Matrix:
    defaults = _lists(plan.defaults)
    lists = {**defaults, **_lists(matrix)}
    doubling = None
    if _doubles(lists):
        doubling = Doubling(matrix.smallest_batch, matrix.largest_batch, matrix.stop_gain)
    return Matrix(
        lists=lists,
        compare=_compared(plan, matrix, doubling),
        exclude=tuple(map(_lists, matrix.exclude)),
        include=tuple({**_single(lists), **_lists(settings)} for settings in matrix.include),
        doubling=doubling,
    )


def _compared(plan: PlanDocument, matrix: MatrixDocument, doubling: Doubling | None) -> tuple[str, ...]:
    """Return the keys whose values are rows of one table; a curve has a table for each batch, unless it is named."""
    named = matrix.compare or (plan.compare if "compare" in plan.model_fields_set else None)
    if named is not None:
        return named
    return tuple(key for key in plan.compare if doubling is None or key != "batch")


def _single(lists: Lists) -> Lists:
    return {
        key: value
        for key, value in lists.items()
        if key not in AXES or (len(value) == 1 and not _doubles({key: value}))
    }


def _lists(settings: SettingsDocument) -> Lists:
    from irbench.features.plan.document import SettingsDocument

    keys = {name: field.alias or name for name, field in SettingsDocument.model_fields.items()}
    values = ((keys[name], getattr(settings, name)) for name in keys if name in settings.model_fields_set)
    return {key: list(value) if key == "import" else value for key, value in values if value is not None}


def _doubles(lists: Lists) -> bool:
    from irbench.features.plan.document import DOUBLING

    return DOUBLING in lists.get("batch", ())


def _contradictions(plan: PlanDocument) -> Iterator[str]:
    """Yield what is wrong with values that are right by themselves."""
    if _doubles(_lists(plan.defaults)):
        yield 'defaults.batch: "doubling" belongs into a [[matrix]]'
    for number, document in enumerate(_matrices(plan)):
        place = place_text(("matrix", number)) if plan.matrix else "defaults"
        matrix = _matrix(plan, document)
        for lists, inner in ((matrix.lists, place), *_included(matrix, place)):
            if "models" not in lists:
                yield f'{inner}: there is no model. Write models = ["resnet50"], for example'
        yield from (f"{place}.{problem}" for problem in _doubling_problems(matrix, document))


def _included(matrix: Matrix, place: str) -> Iterator[tuple[Lists, str]]:
    for number, lists in enumerate(matrix.include):
        yield lists, f"{place}.include[{number}]"


def _doubling_problems(matrix: Matrix, document: MatrixDocument) -> Iterator[str]:
    if any(_doubles(lists) for lists in matrix.include):
        yield 'include: batch = "doubling" belongs into a [[matrix]] of its own'
    if matrix.doubling is None:
        for name in _DOUBLING_KEYS:
            if name in document.model_fields_set:
                yield f'{name.replace("_", "-")}: it has a meaning with batch = "doubling" only'
        return
    if len(matrix.lists["batch"]) > 1:
        yield 'batch: "doubling" cannot be combined with other values'
    if "batch" in matrix.compare:
        yield 'batch: "doubling" needs a table for each batch. Leave batch out of compare'
    if matrix.doubling.smallest > matrix.doubling.largest:
        yield "smallest-batch: it is larger than largest-batch"


Place: TypeAlias = Sequence[str | int]
"""Keys and places in lists, from the top of a plan."""

_MOST_LINES = 50
_TABLES = ("model_type", "model_attributes_type", "dict_type")


def plan_error(name: str, problems: Iterable[str]) -> IrbenchError:
    """Return the error that lists all problems of a plan, a line for each."""
    lines = tuple(dict.fromkeys(problems))
    said = "a problem" if len(lines) == 1 else f"{len(lines)} problems" if len(lines) < _MOST_LINES else "many problems"
    hint = "Fix every line above; irbench plan schema prints all keys with their forms."
    return IrbenchError(f"{name} has {said}.", hint=hint, details=lines)


def structural_problems(
    errors: Iterable[ErrorDetails], document: Mapping[str, Any], keys: Callable[[Place], Sequence[str]]
) -> list[str]:
    """Return a line for each of the first keys and values that a plan cannot have, in the order of the plan."""
    # a file from elsewhere may have any number of them
    ordered = sorted(islice(errors, _MOST_LINES), key=lambda error: _position(error["loc"], document))
    return [_line(error, document, keys) for error in ordered]


def place_text(place: Place) -> str:
    """Return a place as a user would look for it: ``matrix[2].batch[0]``."""
    text = ""
    for part in place:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _line(error: ErrorDetails, document: Mapping[str, Any], keys: Callable[[Place], Sequence[str]]) -> str:
    place = _place(error["loc"], document)
    if error["type"] == "extra_forbidden":
        if place[-1] in _OF_REQUESTS:
            return f"{place_text(place)}: a plan gives no requests. Use irbench serve, or irbench fleet serve"
        near = did_you_mean(str(place[-1]), keys(place[:-1]))
        return f"{place_text(place)}: there is no such key. {near}".rstrip()
    return f"{place_text(place)}: {_reason(error)}"


def _place(location: Place, document: Mapping[str, Any]) -> list[str | int]:
    place: list[str | int] = []
    value: Any = document
    for part in location:
        if isinstance(part, int) and not isinstance(value, list | tuple):
            continue
        place.append(part)
        value = _inner(value, part)
    return place


def _position(place: Place, document: Mapping[str, Any]) -> list[int]:
    """Return where a place is in the document: what number its key has in each table around it."""
    position: list[int] = []
    value: Any = document
    for part in place:
        keys = list(value) if isinstance(value, Mapping) else []
        position.append(part if isinstance(part, int) else keys.index(part) if part in keys else len(keys))
        value = _inner(value, part)
    return position


def _inner(value: Any, part: str | int) -> Any:
    try:
        return value[part]
    except (KeyError, IndexError, TypeError):
        return None


def _reason(error: ErrorDetails) -> str:
    kind, facts = error["type"], error.get("ctx", {})
    value = json.dumps(error["input"], default=str)
    if kind == "value_error":
        return str(facts["error"])
    if kind in _TABLES:
        return f"{value} is not a table of keys and values"
    if kind == "string_too_short":
        return "it is empty"
    if kind == "literal_error":
        known = [word.strip(" '") for word in str(facts["expected"]).replace(" or ", ",").split(",")]
        return f"{value} is not one of {', '.join(known)}. {did_you_mean(str(error['input']), known)}".rstrip()
    if kind == "bool_type":
        return f"{value} is neither true nor false"
    if kind == "string_type":
        return f"{value} is not a text"
    return f"{value} is not valid: {error['msg']}"
