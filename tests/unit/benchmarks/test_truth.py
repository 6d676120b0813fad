"""The entry that holds irbench against what is known: parts, steps that fail, goals and exit codes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from benchmarks import known_speed, truth
from benchmarks.ablation_figures import ONE_AFTER_THE_OTHER, ONE_LAUNCH, UNFROZEN
from benchmarks.claims import SHIPPED, Claim
from benchmarks.real_noise import RealNoise
from benchmarks.steps import Found, Step
from benchmarks.truth_report import ABLATION, KNOWN, REAL, Report
from benchmarks.workbench import CommandFailed, Workbench
from irbench.core.row import Verdict


def claim(ratio: float, value: float, verdict: Verdict, subject: str = "ort", way: str = SHIPPED) -> Claim:
    return Claim(subject, way, ratio, value, value * 0.99, value * 1.01, verdict, 6, 30.0)


def call(monkeypatch: pytest.MonkeyPatch, steps: Sequence[Step], *arguments: str) -> Result:
    monkeypatch.setattr(truth, "_steps", lambda *_: iter(steps))
    monkeypatch.setattr(known_speed, "is_installed", lambda: True)
    return CliRunner().invoke(truth.main, arguments)


def found(*claims: Found) -> Step:
    return Step("a pair", lambda: claims)


def broken() -> Sequence[Found]:
    raise CommandFailed("python ended with 2: no such level")


def test_a_step_that_fails_leaves_the_figures_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [found(claim(1.0, 1.0, "same")), Step("a pair that breaks", broken), found(claim(1.0, 1.0, "same"))]
    done = call(monkeypatch, steps, "--format", "md")
    assert done.exit_code == 2
    assert "| ort | 1.00 | 2 of 2 |" in done.stdout
    assert "not measured: a pair that breaks: python ended with 2: no such level" in done.stdout


def test_a_missed_goal_is_told_and_decides_the_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    done = call(monkeypatch, [found(claim(1.05, 1.2, "faster"))])
    assert done.exit_code == 1
    assert "missed: 0 of 1 intervals of ort hold the ratio 1.05; 1 should." in done.stderr
    assert call(monkeypatch, [found(claim(1.05, 1.05, "faster"))]).exit_code == 0


def test_what_is_known_so_far_is_in_the_file_after_each_step(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kept: list[str] = []
    output = tmp_path / "truth.md"

    def look() -> Sequence[Found]:
        kept.append(output.read_text())
        return [claim(1.0, 1.0, "same")]

    steps = [found(claim(1.0, 1.0, "same")), Step("the second", look)]
    assert call(monkeypatch, steps, "--format", "md", "-o", str(output)).exit_code == 0
    assert "1 of 1" in kept[0]
    assert "2 of 2" in output.read_text()


def test_a_report_that_cannot_be_written_is_refused_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    done = call(monkeypatch, [], "-o", str(tmp_path / "missing" / "truth.md"))
    assert done.exit_code == 2


def test_the_ablation_is_a_part_of_its_own_and_has_no_goals() -> None:
    report = Report((ABLATION,))
    report.take([claim(1.0, 1.2, "faster"), claim(1.0, 1.2, "faster", way=ONE_LAUNCH)])
    assert report.missed() == ()
    assert report.text("md", to_file=True).count("| ort |") == 2
    report = Report((REAL,))
    report.take([claim(1.0, 1.2, "faster"), claim(1.0, 1.2, "faster", way=ONE_LAUNCH)])
    assert report.text("md", to_file=True).count("| ort |") == 1


def test_backends_of_known_speed_are_held_to_smaller_errors_than_real_ones() -> None:
    report = Report((KNOWN, REAL))
    report.take([Claim(name, SHIPPED, 1.05, 1.08, 1.04, 1.12, "faster", 6, 30.0) for name in ("", "ort")])
    assert report.missed() == ("The median error at the ratio 1.05 is 2.86 %, above 1 %.",)


def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: str) -> list[tuple[tuple[object, ...], object]]:
    """Return the arguments and the environment of what a step of the ablation calls first."""
    calls: list[tuple[tuple[object, ...], object]] = []

    def fail(_bench: Workbench, *arguments: object, **how: object) -> None:
        calls.append((arguments, how.get("environment")))
        raise CommandFailed("not here")

    monkeypatch.setattr(Workbench, "run", fail)
    noise = RealNoise(Workbench(tmp_path, quick=False), ("ort",), runs=1)
    (step,) = [item for item in noise.steps(ablation=True) if item.words == words]
    with pytest.raises(CommandFailed):
        step.measure()
    return calls


def test_a_pair_is_the_shortest_graph_against_a_longer_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ((arguments, environment),) = asked(monkeypatch, tmp_path, "ort, run 1, ratio 1.05")
    assert arguments[arguments.index("--optimize") + 1] == "none,longer"
    assert arguments[arguments.index("--baseline") + 1] == "ort+longer"
    assert not environment


def test_without_freezing_the_same_pair_is_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ((arguments, environment),) = asked(monkeypatch, tmp_path, f"ort, run 1, ratio 1.00, {UNFROZEN}")
    assert arguments[arguments.index("--optimize") + 1] == "none,same"
    assert environment == {"IRBENCH_NO_FREEZE": "1"}


def test_without_interleaving_each_graph_has_a_run_to_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ((arguments, _),) = asked(monkeypatch, tmp_path, f"ort, run 1, {ONE_AFTER_THE_OTHER}")
    assert arguments[arguments.index("--optimize") + 1] == "none"
    assert "--baseline" not in arguments


def test_without_the_ablation_only_what_users_do_is_measured(tmp_path: Path) -> None:
    noise = RealNoise(Workbench(tmp_path, quick=False), ("ort", "openvino"), runs=2)
    assert [step.words for step in noise.steps(ablation=False)][:3] == [
        "ort, run 1, ratio 1.00",
        "ort, run 1, ratio 1.05",
        "openvino, run 1, ratio 1.00",
    ]
    assert len(list(noise.steps(ablation=False))) == 8
    assert len(list(noise.linear_steps())) == 4
