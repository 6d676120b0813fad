"""What a bundle is called, which model a name belongs to, and which of several is meant."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from fresh_projects import exported, make_project, ran, write
from front_door import irbench
from small_bundles import put

from irbench.errors import IrbenchError
from irbench.store import bundles


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return make_project(tmp_path, monkeypatch)


@pytest.mark.ci
@pytest.mark.parametrize(("stem", "name"), [("net+int8", "net_int8"), ("a b", "a b"), ("..net", "net")])
def test_a_name_that_would_mean_something_else_is_changed(stem: str, name: str):
    write(Path(f"{stem}.fakenet"), "2")
    assert exported(f"{stem}.fakenet")[0].name == name
    assert ran(name)[0] == 2


@pytest.mark.ci
def test_two_functions_of_one_name_are_two_models(project: Path):
    write(project / "other/single.py", "def fake_single():\n    return 5\n")
    first, _ = exported("single.py:fake_single")
    second, said = exported("other/single.py:fake_single")
    assert [first.name, second.name] == ["fake_single", "fake_single-other"]
    assert "the name fake_single belongs to single.py:fake_single" in said
    assert [ran(made.name)[0] for made in (first, second)] == [2, 5]
    assert ran("single.py:fake_single")[0] == 2
    assert exported("other/single.py:fake_single")[0].name == "fake_single-other"
    (project / "single.py").unlink()
    assert exported("other/single.py:fake_single", seed=1)[0].name == "fake_single", "its owner is gone"


@pytest.mark.ci
def test_no_model_takes_the_name_of_one_of_the_zoo(project: Path):
    write(project / "fake_scaled.fakenet", "5")
    made, said = exported("fake_scaled.fakenet")
    assert made.name == "fake_scaled-project"
    assert "fake_scaled of irbench models" in said
    with pytest.raises(IrbenchError, match="The name fake_scaled belongs to") as caught:
        exported("plain.fakenet", name="fake_scaled")
    assert caught.value.hint == "Choose another with --name."


@pytest.mark.ci
def test_a_chosen_name_is_kept_and_belongs_to_one_model():
    assert exported("plain.fakenet", name="mine")[0].name == "mine"
    assert ran("mine")[0] == 2
    with pytest.raises(IrbenchError, match=r"The name mine belongs to the model .*plain\.fakenet") as caught:
        exported("saved", name="mine")
    assert f"rm -r {bundles.home()}/bundles/mine" in caught.value.hint
    assert exported("plain.fakenet", name="other")[0].name == "other"


@pytest.mark.ci
def test_a_damaged_bundle_is_replaced_by_force_and_keeps_no_name(project: Path):
    place = exported("plain.fakenet")[0].folder
    (place / "card.json").write_text("{")
    assert exported("plain.fakenet", force=True)[0].name == "plain"
    assert not place.exists()
    (bundles.find("plain") / "card.json").write_text("{")  # type: ignore[operator]
    assert exported("saved", name="plain")[0].name == "plain"


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "net+int8", "net:batch=1", "net.onnx", "x" * 101, "-x", "a\nb"])
def test_an_impossible_name_is_refused_before_any_work(name: str):
    with pytest.raises(IrbenchError, match="not a valid name") as caught:
        exported("plain.fakenet", name=name)
    assert caught.value.hint
    assert bundles.latest() is None


@pytest.mark.ci
def test_a_folder_here_comes_before_a_bundle_of_its_name_from_elsewhere(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    exported("saved")
    shutil.copytree(project / "saved", tmp_path / "saved")
    write(tmp_path / "saved/fake.net", "6")
    monkeypatch.chdir(tmp_path)
    scale, said = ran("saved")
    assert scale == 7
    assert f"{tmp_path}/saved is used; the bundle saved was exported from {project}/saved" in said
    assert ran("saved-" + tmp_path.name)[0] == 7


@pytest.mark.ci
def test_a_version_that_is_named_by_its_folder_is_used_and_told(project: Path):
    place = exported("plain.fakenet")[0].folder
    assert ran(str(place)) == (2, "")
    write(project / "plain.fakenet", "3")
    scale, said = ran(str(place))
    assert scale == 2
    assert said.endswith("irbench export plain.fakenet")


def test_a_run_without_a_model_says_first_which_one_it_takes() -> None:
    put("first")
    put("second", key="b" * 64)
    called = irbench("run", "--dry-run", "--backends", "fake-a")
    assert called.err.splitlines()[0] == "no model was named: taking second, the model exported last"
