"""The columns of exports: every field of a row is one, with a name that says its unit, and means what is documented."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pytest
from cold_and_soak_runs import cold, soak_example
from documents import cell, document, example, failed, group

from irbench.api.rows import RunRow
from irbench.errors import IrbenchError
from irbench.notices import AnyMark
from irbench.record import OutputError
from irbench.render.formats.column_names import column_name
from irbench.render.formats.columns import COLUMNS, COLUMNS_OF_KIND, Kind
from irbench.render.formats.fields import RowField, fields_of, value_at
from irbench.render.formats.meanings import MEANINGS
from irbench.render.formats.row_table import row_sources, row_table, row_values
from irbench.result import RunDocument
from irbench.row import Requested
from irbench.row_figures import PhasesMs, Spans

DOCUMENT = (Path(__file__).parents[4] / "docs" / "exports.md").read_text()
RUNS: Mapping[Kind, RunDocument] = {
    "speed": document(example(), group(failed())), "cold-start": cold(), "soak": soak_example()
}  # fmt: skip


@dataclass(frozen=True)
class MadeUp:
    label: str
    figure: float | None
    always: Requested
    sometimes: Spans | None
    struct: PhasesMs | None
    several: tuple[Spans, ...]
    by_name: Mapping[str, Spans] | None
    mark: AnyMark | None


def test_a_field_that_is_one_dataclass_or_struct_has_a_column_for_each_part():
    found = {field.path: field for field in fields_of(MadeUp)}
    assert found["always.threads"] == RowField("always.threads", "int64", True)
    assert found["always.streams"] == RowField("always.streams", "int64", False)
    assert found["sometimes.low"] == RowField("sometimes.low", "double", True)
    assert found["struct.import_"] == RowField("struct.import_", "double", True)
    assert not {"always", "sometimes", "struct"} & set(found)


def test_what_is_open_ended_is_one_column_of_json():
    found = {field.path: field.type for field in fields_of(MadeUp)}
    assert {found["several"], found["by_name"], found["mark"]} == {"json"}
    assert found["label"] == "string"


def test_nothing_on_the_path_of_a_value_is_no_value():
    (failure,) = [source.row for source in row_sources(document(group(failed())))]
    assert value_at(failure, "latency_ms.p50") is None
    assert value_at(failure, "failure.stage") == "compile"


@pytest.mark.parametrize("kind", COLUMNS_OF_KIND)
def test_no_two_columns_have_the_same_name(kind: Kind):
    names = [column.name for column in COLUMNS_OF_KIND[kind]]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("kind", COLUMNS_OF_KIND)
def test_a_column_of_several_kinds_has_one_type(kind: Kind):
    assert {column.name: column.type for column in COLUMNS_OF_KIND[kind]}.items() <= {
        name: column.type for name, column in COLUMNS.items()
    }.items()


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("latency_ms.p99_9", "p99_9_ms"),
        ("p50_over_launches.value", "p50_over_launches_ms"),
        ("fps_over_launches.high", "fps_high"),
        ("phases_ms.import_", "import_ms"),
        ("speedup.verified", "speedup_verified"),
        ("speedup.reason.code", "speedup_reason_code"),
        ("new_part.some", "new_part_some"),
    ],
)
def test_the_name_of_a_column_ends_with_its_unit(path: str, name: str):
    assert column_name(path) == name


@pytest.mark.parametrize(
    ("name", "unit"),
    [("p50_ms", "ms"), ("fps_low", "samples/s"), ("peak_memory_bytes", "bytes"), ("called_s", "s"), ("speedup", ""),
     ("memory_growth_bytes_per_call", "bytes per call"), ("streams", "")],
)  # fmt: skip
def test_a_column_knows_its_unit(name: str, unit: str):
    assert COLUMNS[name].unit == unit


def test_every_column_is_explained_and_documented():
    """Explain a new column in irbench/render/formats/meanings.py, and copy the line to docs/exports.md."""
    assert set(MEANINGS) == set(COLUMNS)
    documented = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", DOCUMENT, re.MULTILINE))
    assert {name: documented.get(name) for name in MEANINGS} == MEANINGS


@pytest.mark.parametrize("kind", RUNS)
def test_a_value_has_the_type_of_its_column(kind: Kind):
    types: dict[str, tuple[type[Any], ...]] = {
        "string": (str,), "int64": (int,), "double": (float, int), "bool": (bool,), "json": (dict, list, tuple)
    }  # fmt: skip
    for source in row_sources(RUNS[kind]):
        values = row_values(source)
        for column in COLUMNS_OF_KIND[kind]:
            value = values[column.name]
            assert isinstance(value, types[column.type]) or (value is None and column.is_nullable), column.name


def test_a_row_of_own_code_is_never_confined():
    plan = {"cells": {"mine": {"kind": "callable", "target": "nets:infer"}}}
    run = document(group(cell("ort"), cell("mine")), environment={"confined": True}, plan=plan)
    assert [row["confined"] for row in row_table([run]).records()] == [True, False]
    older = document(group(cell("mine")), environment={}, plan=plan)
    assert [row["confined"] for row in row_table([older]).records()] == [None]


@pytest.mark.parametrize("kind", RUNS)
def test_every_row_in_is_a_row_out(kind: Kind):
    tables = RUNS[kind].groups or RUNS[kind].cold_starts or RUNS[kind].soaks
    rows = [row for table in tables for row in (table.cells if kind == "speed" else table.rows)]  # type: ignore[union-attr]
    records = list(row_table([RUNS[kind]]).records())
    assert [(record["backend"], record["state"]) for record in records] == [(row.backend, row.state) for row in rows]
    assert {record["kind"] for record in records} == {kind}


def test_runs_of_several_kinds_are_one_table_with_the_columns_of_all():
    table = row_table(list(RUNS.values()))
    assert set(table.names) == set(COLUMNS)
    assert len(table.rows) == sum(len(row_table([run]).rows) for run in RUNS.values())
    nullable = {column.name: column.is_nullable for column in table.columns}
    assert nullable["is_winner"]  # cold starts have none
    assert not nullable["backend"]


def test_chosen_columns_come_in_the_order_in_which_they_were_chosen():
    table = row_table([RUNS["speed"]], ("fps", "label", "ready_low_ms"))
    assert table.names == ("fps", "label", "ready_low_ms")
    assert table.rows[0] == (30.3, "openvino", None)


def test_unknown_columns_are_refused_all_at_once_each_with_the_nearest():
    with pytest.raises(IrbenchError, match="no columns") as caught:
        row_table([RUNS["speed"]], ("p5_ms", "label", "ftps", "nonsense"))
    assert caught.value.message == (
        "There are no columns 'p5_ms' (did you mean p50_ms?), 'ftps' (did you mean fps?), 'nonsense'."
    )


def test_attributes_of_a_row_in_python_are_columns_of_the_same_type():
    types = {"string": "str", "int64": "int", "double": "float", "bool": "bool"}
    columns = {column.name: column for column in COLUMNS_OF_KIND["speed"]}
    for attribute in fields(RunRow):
        column = columns[attribute.name]
        optional = " | None" if column.is_nullable else ""
        assert str(attribute.type) == f"{types[column.type]}{optional}", attribute.name


def test_two_rows_of_a_table_have_different_labels():
    labels = [source.label for source in row_sources(cold())]
    assert len(labels) == len(set(labels)) == 6


def test_numbers_that_json_does_not_have_are_what_a_stored_document_has_in_their_place():
    wrong = cell("ort", output_error=OutputError(float("inf"), float("nan"), 1.0, None))
    (source,) = row_sources(document(group(wrong)))
    values = row_values(source)
    assert (values["max_abs_error"], values["max_rel_error"]) == (sys.float_info.max, None)


def test_the_model_and_the_shapes_are_those_of_the_row_where_rows_differ():
    rows = (cell("ort"), cell("openvino", batch=8, model="other", shapes={"image": (8, 224, 224, 3)}))
    records = row_table([document(group(*rows))], ("model", "batch", "shapes")).rows
    assert records == (("resnet50", 1, "1x224x224x3"), ("other", 8, "8x224x224x3"))
