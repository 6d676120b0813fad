"""The columns of exports: every figure of a row has one, of the type that it says."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cold_and_soak_runs import cold, serving_example, soak_example
from documents import cell, document, example, failed, group

from irbench.core.record import OutputError
from irbench.core.result import RunDocument
from irbench.errors import IrbenchError
from irbench.render.columns import COLUMNS, SECTIONS, columns_of
from irbench.render.columns.column_files import export_tables, run_row_module, shown_table, with_columns
from irbench.render.columns.declaration import KINDS, Kind
from irbench.render.formats.row_table import row_sources, row_table, row_values

ROOT = Path(__file__).parents[4]
RUNS: Mapping[Kind, RunDocument] = {
    "speed": document(example(), group(failed())), "cold-start": cold(), "soak": soak_example(),
    "load": serving_example(),
}  # fmt: skip


ELSEWHERE = {"label", "model", "shapes", "given_inputs", "verified_against", "series"}
"""Fields of rows that no column is of: what a row is called, raw series, and what documents alone hold."""


class Watched:
    """A row or a part of it that remembers which of its fields were read.

    Args:
        wrapped: It.
        read: Receives the paths of fields that are no parts.
        path: Of this part.
    """

    def __init__(self, wrapped: object, read: set[str], path: str = "") -> None:
        self._wrapped, self._read, self._path = wrapped, read, path

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._wrapped, name)
        path = f"{self._path}{name}"
        if is_dataclass(value) or isinstance(value, msgspec.Struct):
            return Watched(value, self._read, f"{path}.")
        self._read.add(path)
        return value


def paths_of(part: object, before: str = "") -> Iterator[str]:
    """Yield the paths of the fields of a row, down to those that are no parts."""
    names = part.__struct_fields__ if isinstance(part, msgspec.Struct) else [field.name for field in fields(part)]  # type: ignore[arg-type]
    for name in names:
        value = getattr(part, name)
        if is_dataclass(value) or isinstance(value, msgspec.Struct):
            yield from paths_of(value, f"{before}{name}.")
        else:
            yield f"{before}{name}"


@pytest.mark.parametrize("kind", KINDS)
def test_every_figure_of_a_row_has_a_column(kind: Kind):
    for source in row_sources(RUNS[kind]):
        read: set[str] = set()
        for column in columns_of(kind):
            of_row = column.of_row(kind)
            if of_row is not None:
                of_row(Watched(source.row, read))
        missing = {path for path in paths_of(source.row) if path.partition(".")[0] not in ELSEWHERE} - read
        assert not missing, "declare a column of it: irbench/render/columns"


@pytest.mark.parametrize(
    ("name", "unit"),
    [("p50_ms", "ms"), ("fps_low", "samples/s"), ("peak_memory_bytes", "bytes"), ("called_s", "s"), ("speedup", ""),
     ("memory_growth_bytes_per_call", "bytes per call"), ("streams", "")],
)  # fmt: skip
def test_a_column_knows_its_unit(name: str, unit: str):
    assert COLUMNS[name].unit == unit


def test_no_two_columns_have_the_same_name():
    assert sum(map(len, SECTIONS.values())) == len(COLUMNS)


def test_what_is_made_from_the_columns_is_up_to_date():
    written = {"exports.md": export_tables(), "reading-results.md": shown_table()}
    for name, tables in written.items():
        document = (ROOT / "docs" / name).read_text()
        assert with_columns(document, tables) == document, "write it again: make generated"
    module = (ROOT / "irbench" / "runs" / "run_row.py").read_text()
    assert run_row_module() == module, "write it again: make generated"


@pytest.mark.parametrize("kind", RUNS)
def test_a_value_has_the_type_of_its_column(kind: Kind):
    types: dict[str, tuple[type[Any], ...]] = {
        "string": (str,), "int64": (int,), "double": (float, int), "bool": (bool,), "json": (dict, list, tuple)
    }  # fmt: skip
    for source in row_sources(RUNS[kind]):
        values = row_values(source)
        for column in columns_of(kind):
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
    tables = RUNS[kind].tables
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
