"""A history that cannot be told says why."""

from __future__ import annotations

from dataclasses import replace

import pytest
from compared_runs import EVEN, store
from front_door import irbench

import irbench as api
from irbench.errors import IrbenchError
from irbench.spec import GraphFiles
from irbench.store.folders import default_root


def test_a_model_of_which_every_run_has_two_is_refused_with_the_reason():
    writer = store(default_root(), {"ort": EVEN}, graph="aa", table={"model": "tiny"})
    (table,) = writer.document.groups
    other = replace(table, cells=tuple(replace(row, graph_files=GraphFiles("bb", 2000)) for row in table.cells))
    writer.commit(replace(writer.document, groups=(table, other)))
    with pytest.raises(IrbenchError, match="No row of tiny can be used") as caught:
        api.history("tiny")
    assert "has different models of the name tiny" in caught.value.details[0]
    called = irbench("history", "tiny")
    assert called.code == 2
    assert writer.document.run_id in called.err
