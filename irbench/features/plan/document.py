"""The form of a plan: what a TOML file may hold. Its JSON Schema is made from these classes.

Imported only where a plan is read: pydantic takes as long to import as everything that a listing needs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from os import PathLike, fspath
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetJsonSchemaHandler, create_model
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from irbench.core.address import BackendAddress
from irbench.features.plan.expansion import USUAL_ROWS, Comparable
from irbench.options import kinds, own_code, values
from irbench.options.kinds import Kind
from irbench.options.option import Option
from irbench.options.pipeline_stages import require_stages
from irbench.options.run import RUN, plan_key
from irbench.perf_events.event_names import parse_counters
from irbench.spec import Io, Objective, Precision, shape_text

DOUBLING = "doubling"
"""The batch that grows until a larger one gains too little."""

T = TypeVar("T")


def _reads(read: Callable[[Any], Any], form: Any) -> BeforeValidator:
    """Return what turns the forms that the command line takes into one, and says in the schema what these are."""

    def checked(value: Any) -> Any:
        try:
            return read(value)
        except TypeError as error:  # pydantic takes it for a defect of the function
            raise ValueError(str(error)) from error

    return BeforeValidator(checked, json_schema_input_type=form)


class _OneOrSeveral:
    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        several = handler(core)
        return {"anyOf": [several["items"], {**several, "minItems": 1}]}


def _as_list(value: Any) -> Any:
    if value in ([], ()):
        raise ValueError("it is empty")
    return value if isinstance(value, list | tuple) else [value]


def _as_text(value: Any) -> Any:
    return fspath(value) if isinstance(value, PathLike) else value


def _shape(value: Any) -> dict[str, str]:
    return {name: shape_text(sizes) for name, sizes in values.shapes(value).items()}


def _cells(value: Any) -> Any:
    for name, code in value.items() if isinstance(value, Mapping) else ():
        if isinstance(code, Mapping):
            require_stages(code, name)
        elif not isinstance(code, str):
            raise TypeError(f"{code!r} is neither a text nor a mapping of stages")
    return value


def _batch(value: Any) -> int | str:
    return DOUBLING if value == DOUBLING else values.count(value)


def _address(value: Any) -> str:
    return str(BackendAddress.parse(values.text(value)))


Listed: TypeAlias = Annotated[tuple[T, ...], BeforeValidator(_as_list), _OneOrSeveral()]
Name: TypeAlias = Annotated[str, Field(min_length=1), BeforeValidator(_as_text)]
Positive: TypeAlias = Annotated[int, Field(ge=1)]
Count: TypeAlias = Annotated[int, _reads(values.count, Positive)]
Batch: TypeAlias = Annotated[int | str, _reads(_batch, Positive | Literal["doubling"])]
Duration: TypeAlias = Annotated[float, _reads(values.duration_s, float | str)]
Share: TypeAlias = Annotated[float, _reads(values.fraction, float | str)]
Seed: TypeAlias = Annotated[int, _reads(values.seed, Annotated[int, Field(ge=0, le=2**32 - 1)])]


class _Document(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=lambda name: name.replace("_", "-"),
        use_attribute_docstrings=True,
        title=None,
    )


_FORMS: Mapping[Kind[Any], Any] = {
    kinds.FLAG: Annotated[bool, Field(strict=True)],
    kinds.COUNT: Count,
    kinds.COUNTS: Count,
    kinds.THREAD_COUNTS: Annotated[int | str, _reads(values.threads, Positive | Literal["native"])],
    kinds.BACKENDS: Annotated[Name, _reads(_address, str)],
    kinds.PRECISIONS: Precision,
    kinds.LEVELS: Name,
    kinds.MODULES: Name,
    kinds.CPUS: Annotated[str, _reads(lambda value: values.cpu_list(values.cpus(value)), str)],
    kinds.IO: Io,
    kinds.OBJECTIVE: Objective,
    kinds.SHAPES: Annotated[dict[str, str], _reads(_shape, dict[str, int | str | list[int]])],
    kinds.DATA: Name,
    kinds.CONSTANTS: dict[str, Any],
    kinds.SETTINGS: Annotated[
        dict[str, dict[str, str]], _reads(values.settings, dict[str, dict[str, str | int | float | bool]])
    ],
    kinds.VARIED: Annotated[
        dict[str, dict[str, tuple[str, ...]]],
        _reads(values.varied, dict[str, dict[str, list[str | int | float | bool]]]),
    ],
    kinds.FEEDBACK: dict[str, str],
    kinds.SWEEP: Name,
    kinds.CELLS: Annotated[dict[str, Any], _reads(_cells, dict[str, str | dict[str, str]])],
    kinds.NAMES: tuple[Name, ...],
    kinds.OUTPUTS: tuple[Name, ...],
    kinds.ROW: Name,
    kinds.NOTE: str,
    kinds.METRIC: Name,
    kinds.SEED: Seed,
    kinds.SHARE: Share,
    kinds.ACCURACY: Annotated[float, _reads(own_code.min_accuracy, float | str)],
    kinds.LATENCY: Duration,
    kinds.DURATION: Duration,
    kinds.PACE: Annotated[float, _reads(values.pace_s, float | str)],
    kinds.STEP: Annotated[float, _reads(values.timeline_s, float | str)],
    kinds.WARM_UP: Annotated[str, _reads(lambda value: str(values.warm_up(value)), int | str)],
    kinds.COUNTERS: Annotated[tuple[str, ...], _reads(parse_counters, str | list[str])],
}
"""The form of each kind of option in a plan; of those that a plan has lists of, that of one value."""

_FORM_OF_BATCH = Batch
_OF_THE_FOLDER = "A path is relative to the plan's folder."
_MORE = {"data": f" {_OF_THE_FOLDER}", "batch": f' "{DOUBLING}" doubles it until that gains less than stop-gain.'}


def _several(form: Any) -> Any:
    return Listed[form]


def _setting(name: str, declared: Option) -> tuple[Any, Any]:
    form = _FORM_OF_BATCH if name == "batch" else _FORMS[declared.kind]
    field = Field(
        False if declared.kind.is_flag else None,
        alias=plan_key(name),
        description=f"{declared.help.rstrip('.')}.{_MORE.get(name, '')}",
    )
    if declared.kind.is_flag:
        return form, field
    several_or_one: Any = form if declared.plan == "single" else _several(form)
    return several_or_one | None, field


if TYPE_CHECKING:
    SettingsDocument = _Document
else:
    SettingsDocument = create_model(
        "SettingsDocument",
        __base__=_Document,
        __doc__="Settings of cells: the options of `irbench run`, written as there without their dashes.",
        models=(
            Listed[Name] | None,
            Field(
                None,
                description=f"Names of models, ONNX files, or anything else that irbench run takes. {_OF_THE_FOLDER}",
            ),
        ),
        **{name: _setting(name, option) for name, option in RUN.options.items() if option.plan != "none"},
    )


class MatrixDocument(SettingsDocument):
    """Lists whose combinations are measured, over those of [defaults]."""

    compare: tuple[Comparable, ...] | None = None
    """Keys whose values are rows of one table; each value of any other key begins a table of its own."""
    exclude: tuple[SettingsDocument, ...] = ()
    """Combinations to leave out: cells that have one of the values of each key."""
    include: tuple[SettingsDocument, ...] = ()
    """Further combinations, over [defaults] and what has a single value in the matrix."""
    smallest_batch: Count = 1
    """With batch = "doubling": the first batch."""
    largest_batch: Count = 1024
    """With batch = "doubling": no batch is larger."""
    stop_gain: Share = 0.05
    """With batch = "doubling": stop when the last step gained less throughput than this in every row."""


class PlanDocument(_Document):
    """A plan for irbench sweep."""

    name: str | None = None
    """Of the sweep; that of the file by default."""
    seed: Seed = 0
    """Decides the order in which tables are measured."""
    compare: tuple[Comparable, ...] = USUAL_ROWS
    """Keys whose values are rows of one table; each value of any other key begins a table of its own."""
    defaults: SettingsDocument = SettingsDocument()
    """Settings of all cells, unless a matrix has others."""
    matrix: tuple[MatrixDocument, ...] = ()
    """Lists whose combinations are measured; the defaults alone where there is none."""


def plan_schema() -> bytes:
    """Return the JSON Schema (draft 2020-12) of a plan."""
    schema = _plain(PlanDocument.model_json_schema(by_alias=True, mode="validation"))
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "irbench plan", **schema}
    return json.dumps(whole, indent=1, sort_keys=True).encode() + b"\n"


def _plain(schema: Any) -> Any:
    """Return a schema without null, which TOML does not have, and without titles that repeat names."""
    if isinstance(schema, list):
        return [_plain(part) for part in schema if part != {"type": "null"}]
    if not isinstance(schema, dict):
        return schema
    return {key: _plain(value) for key, value in schema.items() if key != "title" and (key, value) != ("default", None)}
