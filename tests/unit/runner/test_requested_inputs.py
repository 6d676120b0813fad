"""What was asked of the inputs, made into sizes and feeds of a model."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from irbench.core.feeds import logical_inputs, read_sample
from irbench.errors import IrbenchError
from irbench.options.input_request import InputRequest
from irbench.runner import requested_inputs
from irbench.runner.requested_inputs import ModelData, read_data, refuse_unknown_values, require_data
from irbench.spec import Artifact, Bundle, InputSpec, TensorSpec


def bundle(*specs: TensorSpec, outputs: tuple[TensorSpec, ...] = (), **defaults: int) -> Bundle:
    artifact = Artifact("onnx", Path(), specs, outputs)
    return Bundle("model", tuple(InputSpec(spec) for spec in specs), (artifact,), defaults)


def tensor(name: str, *shape: int | str, dtype: str = "float32") -> TensorSpec:
    return TensorSpec(name, dtype, tuple(shape))


TEXT = bundle(tensor("tokens", "batch", "length", dtype="int64"), length=128)
POINTS = replace(TEXT, details={"batch_in_file": "num_points"})


def tokens(*shapes: tuple[int, int], asked: Bundle = TEXT, **more: Any) -> ModelData:
    data = tuple({"tokens": np.ones(shape, np.int64)} for shape in shapes)
    return read_data(InputRequest(data, **more), asked, {})


def test_without_data_sizes_are_those_of_the_model() -> None:
    data = read_data(InputRequest(), TEXT, {})
    assert data.bind(None, {}) == {"length": 128, "batch": 1}
    assert not data.feeding({"length": 128, "batch": 1}, 7, Path()).samples


def test_data_bind_dimensions_and_the_batch_is_1_unless_it_is_asked_for(tmp_path: Path) -> None:
    data = tokens((4, 17), (4, 17))
    sizes = data.bind(None, {})
    assert sizes == {"length": 17, "batch": 1}
    feeding = data.feeding(sizes, 0, tmp_path)
    assert (feeding.count, feeding.rows, feeding.rows_per_call) == (8, 8, 1)
    assert data.bind(4, {}) == data.bind(None, {"batch": (4,)}) == {"length": 17, "batch": 4}


def test_samples_may_come_in_files_of_different_batches() -> None:
    assert tokens((4, 17), (2, 17)).bind(None, {})["batch"] == 1


@pytest.mark.parametrize("called", ["N", "batch_size", "unk__12", "s77", "x_dynamic_axes_1", "?"])
def test_a_file_may_call_its_batch_as_exporters_do(called: str) -> None:
    assert tokens((4, 17), asked=replace(TEXT, details={"batch_in_file": called})).bind(None, {})["batch"] == 1


def test_a_first_dimension_of_another_name_is_no_batch_and_has_the_size_of_the_data(tmp_path: Path) -> None:
    data = tokens((4, 17), (4, 17), asked=POINTS)
    sizes = data.bind(None, {})
    assert sizes == {"length": 17, "batch": 4}
    feeding = data.feeding(sizes, 0, tmp_path)
    assert (feeding.count, feeding.rows) == (2, 0)


def test_a_batch_that_was_asked_for_divides_and_joins_the_data(tmp_path: Path) -> None:
    data = tokens((4, 17), (2, 17))
    sizes = data.bind(3, {})
    feeding = data.feeding(sizes, 0, tmp_path)
    assert (feeding.count, feeding.rows, feeding.rows_per_call) == (2, 6, 3)
    assert [read_sample(path, TEXT.inputs)["tokens"].shape for path in feeding.samples] == [(3, 17)] * 2


def test_data_of_a_fixed_batch_are_divided_into_it(tmp_path: Path) -> None:
    fixed = bundle(tensor("tokens", 1, 5, dtype="int64"))
    data = tokens((3, 5), asked=fixed)
    assert data.bind(None, {}) == {"batch": 1}
    assert data.feeding({"batch": 1}, 0, tmp_path).count == 3


def test_data_with_different_sizes_of_such_a_dimension_are_refused_with_the_remedy() -> None:
    with pytest.raises(IrbenchError, match="sample 0 has a batch of 4, and sample 1 of 2") as caught:
        tokens((4, 17), (2, 17), asked=POINTS).bind(None, {})
    assert "--batch" in caught.value.hint


def test_a_shape_that_contradicts_the_data_is_refused() -> None:
    with pytest.raises(IrbenchError, match="'length' has the size 17 in the data, and 32 by --shape"):
        tokens((1, 17)).bind(None, {"tokens": (1, 32)})


def test_a_shape_that_gives_the_batch_divides_the_data() -> None:
    assert tokens((4, 17)).bind(None, {"tokens": (2, 17)}) == {"length": 17, "batch": 2}


def test_constants_are_checked_against_their_input() -> None:
    speech = bundle(tensor("audio", "batch", 4), tensor("sr", dtype="int64"), tensor("size", "n", dtype="int64"))
    data = read_data(InputRequest(values={"sr": (16000,), "size": (480, 640)}), speech, {})
    sizes = data.bind(None, {})
    assert sizes == {"n": 2, "batch": 1}
    _, sr, size = logical_inputs(speech.inputs, sizes, data.feeding(sizes, 0, Path()))
    assert sr.tolist() == 16000
    assert size.tolist() == [480, 640]
    for wrong in ((0.5,), (1, 2), ("text",)):
        data = read_data(InputRequest(values={"sr": wrong, "size": (1, 2)}), speech, {})
        with pytest.raises(IrbenchError, match="--value sr=") as caught:
            data.feeding(sizes, 0, Path())
        assert "int64" in caught.value.hint


def test_a_constant_of_another_model_of_the_run_is_ignored_and_one_of_none_refused() -> None:
    other = bundle(tensor("sr", dtype="int64"))
    asked = InputRequest(values={"sr": (1,)})
    refuse_unknown_values(asked, (TEXT, other))
    assert read_data(asked, TEXT, {}).feeding({"length": 128, "batch": 1}, 0, Path()).values == {}
    with pytest.raises(IrbenchError, match="'tokenz'") as caught:
        refuse_unknown_values(InputRequest(values={"tokenz": (1,)}), (TEXT,))
    assert "Did you mean tokens?" in caught.value.hint


def test_an_input_with_data_and_a_constant_is_refused() -> None:
    data = tokens((1, 17), values={"tokens": (1,)})
    with pytest.raises(IrbenchError, match="both give the input tokens"):
        data.feeding(data.bind(None, {}), 0, Path())


def test_the_record_has_source_and_digests(tmp_path: Path) -> None:
    np.save(tmp_path / "tokens.npy", np.ones((1, 9), np.int64))
    data = read_data(InputRequest(tmp_path / "tokens.npy"), TEXT, {})
    feeding = data.feeding(data.bind(None, {}), 0, tmp_path / "made")
    assert feeding.source == str(tmp_path / "tokens.npy")
    assert len(feeding.sha256["tokens"]) == 64
    assert InputRequest(tmp_path).as_plan()["data"] == str(tmp_path)
    assert InputRequest(({},)).as_plan()["data_in_memory"] == 1


@pytest.mark.parametrize("batch", [1, 2])
def test_images_in_a_folder_for_each_class_are_fed_with_their_labels(tmp_path: Path, batch: int) -> None:
    for name in ("cat/a.png", "cat/b.png", "dog/a.png"):
        (tmp_path / "photos" / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (5, 4)).save(tmp_path / "photos" / name)
    asked = InputRequest(tmp_path / "photos")
    require_data(asked)
    data = read_data(asked, bundle(tensor("image", "batch", 3, 4, 5)), {})
    assert data.feeding(data.bind(batch, {}), 0, tmp_path / "made").labels == (0, 0, 1)


def test_data_that_no_model_could_take_are_refused_without_one(tmp_path: Path) -> None:
    (tmp_path / "cat").mkdir()
    with pytest.raises(IrbenchError, match="contains no samples"):
        require_data(InputRequest(tmp_path))
    (tmp_path / "cat" / "a.png").write_bytes(b"no image")
    with pytest.raises(IrbenchError, match=r"a\.png is not a readable"):
        require_data(InputRequest(tmp_path))
    with pytest.raises(IrbenchError, match="not UTF-8"):
        require_data(InputRequest(Path(os.fsdecode(b"caf\xe9"))))
    with pytest.raises(IrbenchError, match="no file or folder"):
        require_data(InputRequest(tmp_path / "nowhere"))


def test_more_feeds_than_can_take_turns_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(requested_inputs, "MOST_SAMPLES", 3)
    data = tokens((4, 17))
    with pytest.raises(IrbenchError, match="make 4 samples of batch 1; at most 3"):
        data.feeding(data.bind(1, {}), 0, tmp_path)


STEP = bundle(
    tensor("x", "batch", 8),
    tensor("h0", "batch", 16),
    outputs=(tensor("y", "batch", 8), tensor("h", "batch", 16), tensor("n", "batch", 16, dtype="int64")),
)
CACHE = bundle(tensor("past", 1, "p"), outputs=(tensor("present", 1, "q"), tensor("longer", 1, 9, 9)))


def test_an_output_of_equal_shape_may_be_fed_back_and_begins_with_zeros() -> None:
    data = read_data(InputRequest(feedback={"h0": "h"}), STEP, {})
    feeding = data.feeding({"batch": 2}, 0, Path())
    _, state = logical_inputs(STEP.inputs, {"batch": 2}, feeding)
    assert state.shape == (2, 16)
    assert not state.any()
    assert feeding.checked_calls == 8


@pytest.mark.parametrize(
    ("feedback", "message", "hint"),
    [
        ({"h0": "hh"}, "no output called 'hh'", "Outputs: y, h, n"),
        ({"h00": "h"}, "no input called 'h00'", "Did you mean h0?"),
        ({"h0": "y"}, "batchx8|2x8", "equal shapes"),
        ({"h0": "n"}, "int64", "equal shapes"),
    ],
)
def test_what_cannot_be_fed_back_is_refused(feedback: dict[str, str], message: str, hint: str) -> None:
    data = read_data(InputRequest(feedback=feedback), STEP, {})
    with pytest.raises(IrbenchError, match=message) as caught:
        data.feeding({"batch": 2}, 0, Path())
    assert hint in caught.value.hint


def test_a_dimension_that_only_a_run_can_tell_is_left_to_the_run() -> None:
    read_data(InputRequest(feedback={"past": "present"}), CACHE, {}).feeding({"p": 4, "batch": 1}, 0, Path())
    with pytest.raises(IrbenchError, match="cannot be fed back"):
        read_data(InputRequest(feedback={"past": "longer"}), CACHE, {}).feeding({"p": 4, "batch": 1}, 0, Path())


def test_files_of_the_batch_size_are_calls_of_their_own_of_as_many_samples(tmp_path: Path) -> None:
    feeding = tokens((4, 17), (4, 17)).feeding({"batch": 4, "length": 17}, 0, tmp_path)
    assert (feeding.count, feeding.rows, feeding.rows_per_call) == (2, 8, 4)
