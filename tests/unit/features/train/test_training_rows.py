"""The rows that settings make, and the data that they are trained on."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from irbench.core.record import Failure
from irbench.errors import IrbenchError
from irbench.features.train.data import SyntheticImages, images_in, require_batches, require_scores
from irbench.features.train.options import TrainOptions
from irbench.features.train.training_rows import TrainingRows, training_of, without
from irbench.notices.base import Context
from irbench.runner.plan import PlannedGroup
from irbench.spec.training import ModelFacts, TrainedModel, TrainingData

FACTS = ModelFacts("net", (32, 32, 3), 10, 1000, "sparse_categorical_crossentropy", "adam")
DATA = TrainingData("images", ("cat", "dog"), 100)


def planned(threads: Sequence[int | None] = (2,), **options: object) -> PlannedGroup:
    asked = TrainOptions(**options)  # type: ignore[arg-type]
    rows = TrainingRows(
        asked, TrainedModel("net"), FACTS, DATA, threads=threads, cpus=None, seed=0, design=asked.design
    )
    return rows.group()


def test_each_combination_of_settings_is_a_row_and_the_first_is_the_baseline() -> None:
    group = planned(batch=(32, 64), xla=("off", "on"), prefetch=("0", "1", "auto")).group
    assert len(group.cells) == 12
    assert len({cell.id for cell in group.cells}) == 12
    assert group.baseline == group.cells[0].id
    assert {(cell.load.batch, *cell.load.varied.values()) for cell in group.cells} == {
        (batch, xla, prefetch) for batch in (32, 64) for xla in ("off", "on") for prefetch in ("0", "1", "auto")
    }


def test_rows_are_called_by_the_settings_in_which_they_differ() -> None:
    labels = [cell.label for cell in planned(xla=("on",), prefetch=("0", "auto")).group.cells]
    assert labels == ["tf prefetch=0", "tf prefetch=auto"]


def test_several_numbers_of_threads_are_a_setting_like_any_other() -> None:
    cells = planned((1, 2, None), xla=("off", "on")).group.cells
    assert [cell.load.threads for cell in cells] == [1, 2, None] * 2
    assert cells[2].load.varied == {"xla": "off", "threads": "native"}
    assert "threads" not in planned((2,), xla=("off", "on")).group.cells[0].load.varied


def test_a_row_is_trained_with_its_settings() -> None:
    cells = planned(precision=("fp32", "mixed_bfloat16"), cache=("on",), workers=("1",)).group.cells
    settings = [training_of(cell).settings for cell in cells]
    assert [(own.precision, own.cache, own.workers) for own in settings] == [
        ("fp32", "on", "1"),
        ("mixed_bfloat16", "on", "1"),
    ]
    assert [cell.load.precision for cell in cells] == ["fp32", "bf16"]


def test_half_a_design_has_half_of_the_rows() -> None:
    settings = {"batch": (32, 64), "xla": ("off", "on"), "prefetch": ("0", "auto")}
    assert len(planned(**settings).group.cells) == 2 * len(planned(**settings, design="half").group.cells)


@pytest.mark.parametrize(
    "settings", [{"batch": (32, 64), "xla": ("off", "on")}, {"prefetch": ("0", "1", "auto"), "xla": ("off", "on")}]
)
def test_half_of_two_settings_is_refused_as_it_tells_nothing_of_either(settings: dict[str, tuple[object, ...]]) -> None:
    with pytest.raises(IrbenchError, match="xla"):
        planned(**settings, design="half")


def test_what_is_compared_is_samples_per_second_unless_the_objective_is_cost() -> None:
    assert planned(xla=("off", "on")).group.objective == "fps"
    assert planned(xla=("off", "on"), objective="cost").group.objective == "cost"


def test_a_baseline_that_does_not_train_is_replaced_by_the_next_row() -> None:
    group = planned(xla=("off", "on"))
    first, second = (cell.id for cell in group.group.cells)
    left = without(group, {first: Failure("accuracy", "the loss does not fall")})
    assert left.group.baseline == second
    assert [cell.id for cell in left.measured] == [second]


def test_a_batch_larger_than_the_data_is_refused() -> None:
    with pytest.raises(IrbenchError, match="100 samples"):
        require_batches(DATA, (32, 128))
    require_batches(DATA, (100,))


@pytest.mark.parametrize("image_format", ["png", "jpeg"])
def test_synthetic_images_are_written_once_and_are_of_their_class(
    image_format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRBENCH_HOME", str(tmp_path))
    asked = SyntheticImages((16, 12, 3), 3, 9, 0, image_format)  # type: ignore[arg-type]
    written = asked.written()
    files = sorted(Path(written.source).rglob(f"*.{image_format}"))
    times = [file.stat().st_mtime_ns for file in files]
    assert (written.samples, len(written.classes), len(files)) == (9, 3, 9)
    with Image.open(files[0]) as image:
        assert image.size == (12, 16)
    assert asked.written() == written
    assert [file.stat().st_mtime_ns for file in files] == times
    assert SyntheticImages((16, 12, 3), 3, 9, 1, image_format).written() != written  # type: ignore[arg-type]


def test_a_folder_without_images_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cat").mkdir()
    with pytest.raises(IrbenchError, match="no folder with images"):
        images_in(tmp_path)
    with pytest.raises(IrbenchError, match="no folder"):
        images_in(tmp_path / "nowhere")


def test_more_classes_than_scores_are_refused() -> None:
    with pytest.raises(IrbenchError, match="3 classes"):
        require_scores(TrainingData("photos", ("cat", "cow", "dog"), 3), 2)
    require_scores(TrainingData("photos", ("cat", "dog"), 2), 1)


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    for name in ("cat", "dog"):
        (tmp_path / "photos" / name).mkdir(parents=True)
        Image.new("RGB", (20, 10)).save(tmp_path / "photos" / name / "one.png")
    return tmp_path / "photos"


def test_each_folder_of_images_is_a_class_once_all_are_decoded(photos: Path) -> None:
    data = images_in(photos)
    assert (data.classes, data.samples) == (("cat", "dog"), 2)
    (photos / "dog" / "two.jpg").write_bytes((photos / "dog" / "one.png").read_bytes()[:45])
    with pytest.raises(IrbenchError, match=r"dog/two\.jpg is not a readable"):
        images_in(photos)


def test_a_folder_whose_path_is_not_utf_8_is_refused(photos: Path) -> None:
    other = photos.rename(photos.with_name(os.fsdecode(b"caf\xe9")))
    with pytest.raises(IrbenchError, match="not UTF-8"):
        images_in(other)


def test_a_note_says_where_fit_makes_several_steps_in_a_call() -> None:
    facts = replace(FACTS, steps_per_execution=8)
    rows = TrainingRows(TrainOptions(), TrainedModel("net"), facts, DATA, threads=(2,), cpus=None, seed=0)
    (note,) = rows.group().notes
    assert "steps_per_execution" in note.text(Context())
    assert "8" in note.text(Context())
    assert planned().notes == ()
