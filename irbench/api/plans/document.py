"""The form of a plan: what a TOML file may hold. Its JSON Schema is made from these classes.

Imported only where a plan is read: pydantic takes as long to import as everything that a listing needs.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from os import PathLike, fspath
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from irbench.address import BackendAddress
from irbench.api import accuracy_limits, values, varied_options
from irbench.api.counter_options import timeline_s
from irbench.counters import parse_counters
from irbench.render.quantities import cpu_list
from irbench.spec import Io, Objective, Precision, shape_text
from irbench.sweeps.cells import USUAL_ROWS, Comparable

__all__ = ["DOUBLING", "MatrixDocument", "PlanDocument", "SettingsDocument", "plan_schema"]

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
    """Says in the schema that a list may be written as its only value."""

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


def _batch(value: Any) -> int | str:
    return DOUBLING if value == DOUBLING else values.count(value)


def _address(value: Any) -> str:
    return str(BackendAddress.parse(values.text(value)))


Listed: TypeAlias = Annotated[tuple[T, ...], BeforeValidator(_as_list), _OneOrSeveral()]
Name: TypeAlias = Annotated[str, Field(min_length=1), BeforeValidator(_as_text)]
Positive: TypeAlias = Annotated[int, Field(ge=1)]
Count: TypeAlias = Annotated[int, _reads(values.count, Positive)]
Flag: TypeAlias = Annotated[bool, Field(strict=True)]
Backend: TypeAlias = Annotated[Name, _reads(_address, str)]
Batch: TypeAlias = Annotated[int | str, _reads(_batch, Positive | Literal["doubling"])]
Threads: TypeAlias = Annotated[int | str, _reads(values.threads, Positive | Literal["native"])]
Cpus: TypeAlias = Annotated[str, _reads(lambda value: cpu_list(values.cpus(value)), str)]
Duration: TypeAlias = Annotated[float, _reads(values.duration_s, float | str)]
Pace: TypeAlias = Annotated[float, _reads(values.pace_s, float | str)]
WarmUp: TypeAlias = Annotated[str, _reads(lambda value: str(values.warm_up(value)), int | str)]
Step: TypeAlias = Annotated[float, _reads(timeline_s, float | str)]
Counters: TypeAlias = Annotated[tuple[str, ...], _reads(parse_counters, str | list[str])]
LeastAccuracy: TypeAlias = Annotated[float, _reads(accuracy_limits.min_accuracy, float | str)]
Share: TypeAlias = Annotated[float, _reads(values.fraction, float | str)]
Seed: TypeAlias = Annotated[int, _reads(values.seed, Annotated[int, Field(ge=0, le=2**32 - 1)])]
Shape: TypeAlias = Annotated[dict[str, str], _reads(_shape, dict[str, int | str | list[int]])]
Properties: TypeAlias = Annotated[
    dict[str, dict[str, str]], _reads(values.settings, dict[str, dict[str, str | int | float | bool]])
]
Variants: TypeAlias = Annotated[
    dict[str, dict[str, tuple[str, ...]]],
    _reads(varied_options.varied, dict[str, dict[str, list[str | int | float | bool]]]),
]
Constants: TypeAlias = dict[str, Any]


class _Document(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=lambda name: name.replace("_", "-"),
        use_attribute_docstrings=True,
        title=None,
    )


class SettingsDocument(_Document):
    """Settings of cells: the options of `irbench run`, written as there without their dashes."""

    models: Listed[Name] | None = None
    """Names of models, ONNX files, or anything else that irbench run takes. A path is relative to the plan's folder."""
    backends: Listed[Backend] | None = None
    """Backends, with an optional device: ort:cuda. All installed ones that can read the model by default."""
    batch: Listed[Batch] | None = None
    """Samples per inference; "doubling" doubles it until that gains less than stop-gain."""
    streams: Listed[Count] | None = None
    """Concurrent inferences of each process."""
    instances: Listed[Count] | None = None
    """Processes that run the model side by side, each on its own cores."""
    threads: Listed[Threads] | None = None
    """Threads per process in total, or "native" for each runtime's default. The physical cores by default."""
    precision: Listed[Precision] | None = None
    """The precision to compute in, or native for the runtime's default."""
    optimize: Listed[Name] | None = None
    """Levels of optimisation: none, basic, extended, all; with a conversion: basic-int8, int8, int8-static."""
    cpus: Listed[Cpus] | None = None
    """Processors for the backends to use: "0-3,8"."""
    io: Listed[Io] | None = None
    """What is timed: copy includes copying inputs and outputs, bound does not."""
    shape: Listed[Shape] | None = None
    """Shapes of inputs or sizes of dynamic dimensions, by name: { tokens = "1x128" }."""
    data: Listed[Name] | None = None
    """Samples that take turns as inputs: a folder or a file. A path is relative to the plan's folder."""
    value: Listed[Constants] | None = None
    """Constants for inputs, by name: { sr = 16000 }."""
    set: Listed[Properties] | None = None
    """Options of backends: { ort = { "dynamic_block_base" = 4 } }."""
    vary: Variants | None = None
    """Options of backends with several values, a row for each: { ort = { "intra_op.allow_spinning" = [0, 1] } }."""
    rows: tuple[Name, ...] | None = None
    """Ids of the rows to measure of all combinations, as a plan of a stored run has them. All by default."""
    seed: Listed[Seed] | None = None
    """Seed for inputs and for the order of measurements within a table."""
    feedback: dict[str, str] | None = None
    """Outputs that become inputs of the next call, a decode loop: { h = "h0" }."""
    shapes: Name | None = None
    """Shapes that one session meets: "length=128,64"."""
    baseline: Name | None = None
    """Row that speedups are relative to: ort, or ort@streams=1."""
    allow_mixed: Flag = False
    """Compare rows of different precision, and mark them."""
    apart: Flag = False
    """Give every model and batch of a table a table of its own, in the same run."""
    objective: Objective | None = None
    """What rows are compared by: latency, fps, or cost, the processor time per sample."""
    min_accuracy: LeastAccuracy | None = None
    """The minimum share of samples whose top-1 class is that of the reference, "99%"; rows below are not measured."""
    metric: Name | None = None
    """A measure of your own, with its limit: "file.py:fn>=0.9"; rows that miss it are not measured."""
    max_latency: Duration | None = None
    """The largest p90 latency of a row that may be called the best: "50ms"."""
    within: Share | None = None
    """Differences up to this count as the same: "2%"."""
    budget: Duration | None = None
    """Time limit for each table: "90s"."""
    deadline: Duration | None = None
    """Time limit for one step of a backend, after which it counts as failed: "300s"."""
    quick: Flag = False
    """3 launches: fast, with wide intervals."""
    thorough: Flag = False
    """10 to 20 launches, intervals down to 0.5 %."""
    tail: Flag = False
    """Also measure p99."""
    warmup: WarmUp | None = None
    """How long every launch of a row warms up: "2s", or 500 for calls; by default until calls get no faster."""
    sustain: Duration | None = None
    """Also run each row alone for this long in every launch: "3s"."""
    energy: Flag = False
    """Also measure joules per inference, of each row alone."""
    require_full: Flag = False
    """Refuse a row if any of its nodes runs on another device than the one requested."""
    pace: Pace | None = None
    """Also measure latency where calls come at a fixed interval: "10ms"."""
    cold: Flag = False
    """Measure cold starts instead of speeds."""
    counters: Counters | None = None
    """Also count with perf, in launches of their own: ["software", "cache"]."""
    timeline: Step | None = None
    """Also show counters in steps of this long: "100ms"."""
    cells: dict[str, str] | None = None
    """Code of your own as rows: { mine = "package.module:function" }, or a command."""
    import_: Annotated[Listed[Name] | None, Field(alias="import")] = None
    """Modules to import before a model is exported."""
    note: str | None = None
    """A note to store with each run."""


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
