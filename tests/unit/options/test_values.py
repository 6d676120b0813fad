"""Values mean the same as text and as values of Python, and anything else is refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stored_runs import measured

import irbench
from irbench.errors import IrbenchError
from irbench.options import values
from irbench.options.values import AS_IT_IS, alternatives, run_name, varied_in
from irbench.spec import WarmUpLength


@pytest.mark.parametrize(
    ("read", "forms", "meant"),
    [
        (
            values.names,
            ("ort,openvino:gpu", ["ort", "openvino:gpu"], ("ort", "openvino:gpu", "ort")),
            ("ort", "openvino:gpu"),
        ),
        (values.counts, ("1,8", [1, 8], (1, 8, 1), np.array([1, 8])), (1, 8)),
        (values.counts, ("4", 4, [4], np.int64(4)), (4,)),
        (values.threads, ("2", 2, np.int32(2)), 2),
        (values.threads, ("native",), "native"),
        (values.duration_s, ("90s", "1.5m", 90, 90.0, timedelta(seconds=90), np.int64(90), np.float32(90)), 90.0),
        (values.fraction, ("1%", 0.01), 0.01),
        (values.cpus, ("0-1,4", [4, 0, 1], {0, 1, 4}, np.array([0, 1, 4])), (0, 1, 4)),
        (values.cpus, ("1", 1, np.int64(1)), (1,)),
        (
            values.shapes,
            ({"tokens": "1x128"}, {"tokens": (1, 128)}, {"tokens": np.array([1, 128])}),
            {"tokens": (1, 128)},
        ),
        (values.sweep, ("x=1x2,1x3", {"x": "1x2,1x3"}, {"x": [(1, 2), "1x3"]}), ("x", ((1, 2), (1, 3)))),
        (values.sweep, ("2,3", [2, 3], [(2,), "3"], np.array([2, 3])), ("", ((2,), (3,)))),
        (values.settings, ({"ort": {"a": 1}}, {"ort": {"a": "1"}}, {"ort": {"a": True}}), {"ort": {"a": "1"}}),
    ],
)
def test_every_form_of_a_value_means_the_same(read: Callable[[Any], Any], forms: tuple[Any, ...], meant: Any):
    assert [read(form) for form in forms] == [meant] * len(forms)


def test_integers_of_numpy_become_those_of_python_which_json_can_hold():
    read = (*values.counts(np.array([1, 8])), *values.cpus(np.array([0])), values.count(np.int64(2)))
    assert {type(number) for number in read} == {int}


@pytest.mark.parametrize("truth", [True, np.True_])
@pytest.mark.parametrize("read", [values.count, values.counts, values.cpus, values.duration_s, values.fraction])
def test_truth_is_no_number(read: Callable[[Any], Any], truth: Any):
    with pytest.raises(ValueError, match="True"):
        read(truth)


@pytest.mark.parametrize("read", [values.names, values.ordered_names, values.counts, values.cpus])
def test_a_filter_that_found_nothing_is_not_the_default(read: Callable[[Any], Any]):
    for nothing in ([], (), np.array([], int), iter(())):
        with pytest.raises(ValueError, match="it is empty"):
            read(nothing)


@pytest.mark.parametrize(
    ("read", "wrong"),
    [
        (values.names, [1]),
        (values.names, ["ort", ""]),
        (values.counts, 0),
        (values.counts, [1, True]),
        (values.counts, 1.5),
        (values.duration_s, 0),
        (values.duration_s, float("inf")),
        (values.duration_s, float("nan")),
        pytest.param(values.duration_s, 10**400, id="longer than any float"),
        (values.duration_s, timedelta(0)),
        (values.fraction, 1),
        (values.cpus, [-1]),
        (values.cpus, [True]),
        (values.flag, "no"),
        (values.flag, 1),
        (values.text, 1),
        (values.one_of("copy", "bound"), "copied"),
        (values.one_of("copy", "bound"), ["copy"]),
        (values.shapes, "tokens=1x128"),
        (values.shapes, {"tokens": (0,)}),
        (values.shapes, {"tokens": 1.5}),
        (values.shapes, {0: (1,)}),
        (values.settings, {"ort": "a=1"}),
        (values.settings, {"ort": {1: 1}}),
    ],
)
def test_any_other_value_is_refused(read: Callable[[Any], Any], wrong: Any):
    with pytest.raises((TypeError, ValueError)):
        read(wrong)


@given(
    st.floats(min_value=1e-9, max_value=864e6).map(lambda seconds: WarmUpLength(seconds=seconds))
    | st.integers(min_value=1, max_value=10**6).map(lambda calls: WarmUpLength(calls=calls))
)
def test_the_length_of_a_warm_up_is_the_same_when_its_text_is_read_again(length: WarmUpLength) -> None:
    assert values.warm_up(str(length)) == length


VALUES = st.lists(st.sampled_from([AS_IT_IS, "0", "1", "2"]), min_size=2, max_size=3, unique=True).map(tuple)
VARIED = st.dictionaries(
    st.sampled_from(["ort", "openvino"]), st.dictionaries(st.sampled_from("abc"), VALUES, min_size=1), min_size=1
)


@given(VARIED)
def test_what_was_varied_is_varied_again_in_the_same_order(asked: dict[str, dict[str, tuple[str, ...]]]):
    sets = alternatives(asked)
    assert alternatives(varied_in(sets)) == sets


def test_a_text_and_a_folder_are_taken_as_they_are(tmp_path: Path) -> None:
    assert run_name("nightly") == "nightly"
    assert run_name(tmp_path) == str(tmp_path)


def test_what_other_calls_return_names_the_run(tmp_path: Path) -> None:
    run_id = measured(tmp_path).document.run_id
    (entry,) = irbench.results(results=tmp_path)
    run = irbench.load(entry, results=tmp_path)
    assert run.id == irbench.load(run).id == run_id
    assert [row.verdict for row in irbench.compare(entry, run, results=tmp_path).rows]
    (folder,) = irbench.export_runs(run, tmp_path / "run.tar.gz", results=tmp_path)
    assert folder == run.folder.resolve()


@pytest.mark.parametrize("wrong", [7, 2.5, object()])
def test_anything_else_is_refused(wrong: Any) -> None:
    with pytest.raises(IrbenchError, match=f"A value of type {type(wrong).__name__} is not a run") as caught:
        irbench.load(wrong)
    assert caught.value.hint.startswith("Give its name")


def test_several_sizes_of_a_shape_are_refused_with_the_option_that_takes_them():
    with pytest.raises(IrbenchError, match="gives several sizes") as caught:
        values.shape_of_text("tokens=16,64")
    assert caught.value.hint == "irbench run --shapes tokens=16,64 measures a table for each."
