"""Which charts there are of several tables."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from documents import cell, document, group

from irbench.charts.drawing import can_draw
from irbench.render.formats.row_table import row_sources

if not can_draw():
    pytest.skip("needs the extra report", allow_module_level=True)

from irbench.charts.tables import figures_of_shapes


def test_rows_of_several_batches_and_shapes_have_a_field_each_in_the_map_of_their_model():
    cells = [
        cell("ort", id=f"{label}{batch}", label=label, batch=batch, fps=10.0 * batch)
        for label in ("ort", "ort dynamic")
        for batch in (1, 8)
    ]
    tables = [
        replace(
            group(*(replace(each, shapes={"tokens": (each.batch, length)}) for each in cells), model=model),
            shapes={"tokens": (1, length)},
        )
        for model in ("bert", "gpt")
        for length in (16, 64)
    ]
    maps = list(figures_of_shapes(list(row_sources(document(*tables)))))
    assert [(figure.name, figure.title.partition(":")[0]) for figure in maps] == [
        ("fps-batch-shape", "bert"),
        ("fps-batch-shape-2", "gpt"),
    ]
    (values,) = maps[0].chart.to_dict()["datasets"].values()
    fields = Counter((field["field"], field["setting"]) for field in values)
    assert set(fields.values()) == {1}
    assert {field for field, _ in fields} == {
        f"{label} · {length}" for label in ("ort", "ort dynamic") for length in (16, 64)
    }
