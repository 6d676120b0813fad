"""A path that no file can have is a user's mistake."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import models
import pytest
from combinations import each_once
from stored_runs import measured

import irbench
from irbench.api.arguments import given_path
from irbench.errors import IrbenchError
from irbench.options.values import path

pytestmark = pytest.mark.usefixtures("known_backends")

CALLS: dict[str, Callable[[Path, str, str], Any]] = {
    "run": lambda root, _, bad: irbench.run(models.mlp(root).path, backends="fake-a", quick=True, results=bad),
    "load": lambda _, run, bad: irbench.load(run, results=bad),
    "load_profile": lambda _, run, bad: irbench.load_profile(run, results=bad),
    "remove_runs": lambda _, run, bad: irbench.remove_runs(run, results=bad),
    "export_runs to an archive": lambda root, run, bad: irbench.export_runs(run, f"{bad}.tar.gz", results=root),
    "export_runs to a table": lambda root, run, bad: irbench.export_runs(run, f"{bad}.csv", results=root),
    "export": lambda root, run, bad: irbench.load(run, results=root).export(f"{bad}.csv"),
    "import_runs": lambda root, _, bad: irbench.import_runs(root, results=bad),
    "compare": lambda _, run, bad: irbench.compare(run, run, results=bad),
    "results": lambda _, __, bad: irbench.results(results=bad),
    "history": lambda _, __, bad: irbench.history(results=bad),
    "receipt": lambda root, run, bad: irbench.receipt(run, bad, results=root),
    "receipt of a folder": lambda _, run, bad: irbench.receipt(run, results=bad),
    "resume": lambda _, run, bad: irbench.resume(run, results=bad),
    "plan_from": lambda _, run, bad: irbench.plan_from(run, results=bad),
    "optimize": lambda root, _, bad: irbench.optimize(models.mlp(root).path, output=f"{bad}.onnx"),
}


@pytest.mark.ci
@pytest.mark.parametrize(("call", "bad"), each_once(CALLS, ["a\0b", "a" * 5000, "\ud800"]), ids=list(CALLS))
def test_a_path_that_no_file_can_have_is_refused(
    call: str, bad: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(IrbenchError) as caught:
        CALLS[call](tmp_path, measured(tmp_path).document.run_id, bad)
    assert caught.value.hint


def test_a_path_is_returned_whether_or_not_it_is_there() -> None:
    assert path("none/x") == Path("none/x")
    assert given_path("output", "\udcff") == Path("\udcff")  # a byte of a name that is no UTF-8


def test_what_is_no_path_is_refused_by_its_keyword() -> None:
    with pytest.raises(IrbenchError, match=r"output='a\\x00b' is not valid: a path holds no NUL character"):
        given_path("output", "a\0b")
