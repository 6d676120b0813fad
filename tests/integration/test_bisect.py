"""``irbench bisect`` through its front door: versions of a scripted runtime, from a scripted uv."""

from __future__ import annotations

from pathlib import Path

import fake_uv
import models
import pytest
from fake_environments import RUNTIME
from front_door import irbench

import irbench as package

pytestmark = pytest.mark.usefixtures("known_backends")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.mlp(tmp_path_factory.mktemp("model")).path


def search(model: Path, first: str, last: str, *arguments: object) -> tuple[object, ...]:
    return ("bisect", model, "--runtime", RUNTIME, "--from", first, "--to", last, *arguments)


@pytest.mark.ci
def test_the_version_that_changed_the_answers_is_found(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = {"fault": "wrong"}
    fake_uv.install(tmp_path, {"1.0": {}, "1.1": {}, "1.2": None, "1.3": wrong, "1.4": wrong}, monkeypatch)
    called = irbench(*search(model, "1.0", "1.4", "--by", "answer", "--format", "json"))
    assert called.code == 0, called.err
    report = called.document
    assert report["versions"] == ["1.0", "1.1", "1.2", "1.3", "1.4"]
    assert (report["conclusion"], report["last_old"], report["first_new"]) == ("found", "1.1", "1.3")
    assert report["untested"] == ["1.2"]
    assert {step["comparison"]["version"]: step["side"] for step in report["steps"]} == {
        "1.4": "new", "1.2": "skipped", "1.1": "old", "1.3": "new",
    }  # fmt: skip
    assert report["evidence"]["output_error"]["max_rel"] == pytest.approx(0.5, rel=1e-3)


@pytest.mark.ci
def test_the_first_version_that_runs_a_model_is_found(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crashes = {"fault": "crash", "at": "compile"}
    fake_uv.install(tmp_path, {"1.0": crashes, "1.1": crashes, "1.2": {}}, monkeypatch)
    found = package.bisect(model, runtime=RUNTIME, first="1.0", last="1.2", by="answer", progress=None)
    assert found.changed_by == "1.2"
    assert "irbench-fake-runtime 1.2 changed the answers: 1.2 runs the model, 1.1 does not" in str(found)


@pytest.mark.ci
def test_of_two_versions_whose_answers_differ_the_newer_one_is_found_at_once(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_uv.install(tmp_path, {"1.0": {}, "1.1": {"fault": "wrong"}}, monkeypatch)
    found = package.bisect(model, runtime=RUNTIME, first="1.0", last="1.1", by="answer", progress=None)
    assert found.changed_by == "1.1"
    assert found.report.evidence is not None


@pytest.mark.ci
def test_answers_that_do_not_differ_end_the_search_at_once(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = fake_uv.install(tmp_path, {"1.0": {}, "1.1": {"fault": "wrong"}, "1.2": {}}, monkeypatch)
    called = irbench(*search(model, "1.0", "1.2", "--by", "answer"))
    assert called.code == 0
    assert "1.0 and 1.2 do not differ in the answers" in called.out
    assert f"{RUNTIME}==1.1" not in calls.read_text()


@pytest.mark.slow
def test_the_version_that_changed_the_speed_is_found(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = {"call_us": "450"}
    releases = {"1.0": {}, "1.1": {"call_us": "303"}, "1.2": {"fault": "wrong"}, "1.3": {}, "2.0": slow, "2.1": slow}
    fake_uv.install(tmp_path, releases, monkeypatch)
    called = irbench(*search(model, "1.0", "2.1", "--format", "json"))
    assert called.code == 0, called.err
    report = called.document
    assert (report["last_old"], report["first_new"], report["untested"]) == ("1.3", "2.0", [])
    assert report["evidence"]["speedup"]["value"] == pytest.approx(300 / 450, rel=1e-3)
    stored = {row.run_id for row in package.results()}
    assert {step["comparison"]["run_id"] for step in report["steps"]} <= stored


@pytest.mark.ci
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--from", "2.0", "--to", "1.0"), "There is no release of irbench-fake-runtime from 2.0 to 1.0"),
        (("--from", "1.0", "--to", "1.0"), "There is one release"),
        (("--from", "1.0", "--to", "2.0", "--streams", "1,2"), "--streams takes one value in a search"),
        (("--from", "1.0", "--to", "2.0", "--threads", "1,2"), "--threads takes one value in a search"),
        (("--from", "1.0", "--to", "2.0"), "irbench-fake-runtime 2.0 cannot be installed for Python"),
        (("--from", "1.0", "--to", "1.5", "--backend", "fake-a"), "fake-a runs irbench-fake, and versions of"),
    ],
)
def test_a_search_that_cannot_be_made_says_why(
    model: Path, arguments: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_uv.install(tmp_path, {"1.0": {}, "1.5": {}, "2.0": None}, monkeypatch)
    called = irbench("bisect", model, "--runtime", RUNTIME, *arguments)
    assert called.code in (2, 5)
    assert said in called.err
