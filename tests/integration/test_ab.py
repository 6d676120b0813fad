"""``irbench ab`` through its front door: two versions of a scripted runtime, in environments of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fake_uv
import models
import pytest
from fake_environments import RUNTIME, make_environment
from fake_runs import ENOUGH, FASTEST
from front_door import Called, irbench

import irbench as package

pytestmark = pytest.mark.usefixtures("known_backends")
CHOSEN = ("--backend", "fake-versioned")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.mlp(tmp_path_factory.mktemp("model")).path


@pytest.fixture(scope="module")
def pythons(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the Pythons of two environments; the second version takes half the time."""
    folder = tmp_path_factory.mktemp("environments")
    return (
        make_environment(folder / "old", "1.0", {"call_us": "600"}),
        make_environment(folder / "new", "2.0", {"call_us": "300"}),
    )


@pytest.fixture(scope="module")
def compared(model: Path, pythons: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Called, Path]:
    """One short run, and where it was stored."""
    results = tmp_path_factory.mktemp("results")
    asked = ("--a", pythons[0], "--b", pythons[1], *CHOSEN, "--quick", *ENOUGH)
    return irbench("ab", model, *asked, "--format", "json", "--results", results), results


def rows(called: Called) -> list[dict[str, Any]]:
    (table,) = called.document["groups"]
    return sorted(table["cells"], key=lambda row: str(row["environment"]["key"]))


def test_two_versions_are_two_rows_of_one_table(compared: tuple[Called, Path]) -> None:
    called, _ = compared
    assert called.code == 0, called.err
    old, new = rows(called)
    assert (old["label"], new["label"]) == ("fake-versioned 1.0", "fake-versioned 2.0")
    assert called.document["groups"][0]["baseline"] == old["id"]
    assert new["speedup"]["value"] == pytest.approx(2, rel=1e-3)
    assert old["speedup"] is None


def test_each_row_says_which_environment_it_ran_in(compared: tuple[Called, Path], pythons: tuple[Path, Path]) -> None:
    for row, python, version in zip(rows(compared[0]), pythons, ("1.0", "2.0"), strict=True):
        found = row["environment"]
        assert found["python"] == str(python)
        assert (found["runtime"], found["distributions"][RUNTIME]) == (RUNTIME, version)


def test_outputs_of_both_versions_are_verified(compared: tuple[Called, Path]) -> None:
    assert all(row["output_error"]["max_rel"] < 1e-5 for row in rows(compared[0]))
    assert compared[0].document["groups"][0]["verified_against"]["source"] == "backend"


def test_a_stored_run_is_shown_again_and_derived_again_with_its_versions(compared: tuple[Called, Path]) -> None:
    called, results = compared
    shown = irbench("show", "--results", results, "--format", "md")
    assert "fake-versioned 2.0" in shown.out
    assert f"2.0: {RUNTIME} 2.0, Python " in shown.out
    run = package.load(called.document["run_id"], results=results)
    assert [row.environment for row in run.rows] == ["2.0", "1.0"]  # the fastest first
    from irbench.stats.rederive import rederive
    from irbench.store.reading import read_launches

    again = rederive(run.document, list(read_launches(run.folder, run.document)))
    assert again.groups == run.document.groups


@pytest.mark.ci
def test_an_environment_is_built_for_a_release_and_the_installed_one_is_the_default(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_uv.install(tmp_path, {"1.0": {}, "1.1": {}}, monkeypatch)
    releases = ("--a", f"{RUNTIME}==1.0", "--b", RUNTIME)
    called = irbench("ab", model, *releases, *CHOSEN, "--format", "json", *FASTEST)
    assert called.code == 0, called.err
    assert [row["environment"]["requirement"] for row in rows(called)] == [f"{RUNTIME}==1.0", f"{RUNTIME}==1.1"]
    assert f"building an environment with {RUNTIME} 1.1" in called.err
    absent = irbench("ab", model, "--b", f"{RUNTIME}==1.0", *CHOSEN)
    assert absent.code == 5
    assert f"fake-versioned needs {RUNTIME}, which installed does not have" in absent.err


@pytest.mark.ci
def test_a_version_with_wrong_outputs_gets_no_speedup(model: Path, pythons: tuple[Path, Path], tmp_path: Path) -> None:
    wrong = make_environment(tmp_path, "3.0", {"fault": "wrong"})
    called = irbench("ab", model, "--a", pythons[0], "--b", wrong, *CHOSEN, "--format", "json", *FASTEST)
    assert called.code == 1
    assert rows(called)[1]["state"] == "mismatch"
    assert rows(called)[1]["speedup"] is None


@pytest.mark.ci
def test_a_version_that_crashes_is_a_row_with_its_reason(
    model: Path, pythons: tuple[Path, Path], tmp_path: Path
) -> None:
    broken = make_environment(tmp_path, "3.0", {"fault": "crash", "at": "compile"})
    called = irbench("ab", model, "--a", pythons[0], "--b", broken, *CHOSEN, "--format", "json", *FASTEST)
    assert called.code == 3
    assert "SIGSEGV" in rows(called)[1]["failure"]["message"]


@pytest.mark.ci
def test_versions_are_compared_by_cost_in_several_processes_and_at_a_pace(
    model: Path, pythons: tuple[Path, Path], tmp_path: Path
) -> None:
    versions = ("--a", pythons[0], "--b", pythons[1])
    options = ("--objective", "cost", "--instances", "1,2", "--cpus", "0,1", "--pace", "5ms", "--sustain", "10ms")
    real_time = ("--set", "fake-versioned.clock=real", "--set", "fake-versioned.call_us=2000")
    output = tmp_path / "run.csv"
    called = irbench("ab", model, *versions, *CHOSEN, *options, *real_time, *FASTEST, "--format", "csv", "-o", output)
    assert called.code == 0, called.err
    run = package.load()
    assert [table.result.goal.objective for table in run.tables if table.result.goal] == ["cost", "cost"]
    assert [{row.label for row in table.rows} for table in run.tables] == [
        {"fake-versioned 1.0", "fake-versioned 2.0"},
        {"fake-versioned 1.0 2x1", "fake-versioned 2.0 2x1"},
    ]
    assert all(row.paced_p50_ms is not None and row.sustained_fps is not None for row in run.rows)
    assert len(output.read_text().splitlines()) == 5


@pytest.mark.slow
def test_cold_starts_of_two_versions_are_compared(model: Path, pythons: tuple[Path, Path]) -> None:
    versions = ("--a", pythons[0], "--b", pythons[1])
    called = irbench("ab", model, *versions, *CHOSEN, "--cold", "--format", "json", "--budget", "1s")
    assert called.code == 0, called.err
    labels = {row["label"] for row in called.document["cold_starts"][0]["rows"]}
    assert labels == {"fake-versioned 1.0", "fake-versioned 2.0"}


@pytest.mark.parametrize(
    ("arguments", "said", "hint"),
    [
        ((), "Missing option '--b'", "irbench ab --help"),
        (
            ("--b", "/nowhere/bin/python"),
            "/nowhere/bin/python is neither a Python interpreter nor a wheel",
            "Write a release",
        ),
        (("--b", "/bin/false"), "/bin/false does not answer as a Python does", "python of an environment"),
        (("--b", "2.0"), "'2.0' does not name a runtime", "Write a release"),
        (("--b", "installed"), "Both environments have the runtimes of several backends", "--backend"),
        (("--b", "installed", "--backend", "fake-z"), "There is no backend 'fake-z'", "Known"),
        (("--b", "installed", "--quick", "--thorough"), "--quick and --thorough cannot be combined", "Leave one"),
    ],
)
def test_a_wrong_call_says_what_is_wrong_and_what_to_do(
    model: Path, arguments: tuple[str, ...], said: str, hint: str
) -> None:
    called = irbench("ab", model, *arguments)
    assert called.code == 2
    assert said in called.err
    assert hint in called.err


def test_a_model_that_is_not_there_is_refused_before_an_environment_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = fake_uv.install(tmp_path, {"1.0": {}}, monkeypatch)
    called = irbench("ab", tmp_path / "nothing.onnx", "--b", f"{RUNTIME}==1.0")
    assert called.code == 2
    assert "nothing.onnx" in called.err
    assert not calls.exists()
