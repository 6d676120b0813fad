"""docs/extending.md is followed in a fresh environment with a wheel of irbench, whose contracts reject broken parts."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest
import small_calls
from followed_documents import Reader, blocks

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "extending.md").read_text()
UV = Path(sys.executable).with_name("uv")
BROKEN = ROOT / "tests" / "broken_plugins"

pytestmark = pytest.mark.ci


def call(*command: object, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Call a program as in a shell of its own, which knows nothing of the tests."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    kept["PYTEST_DEBUG_TEMPROOT"] = str(folder)  # a pytest that starts elsewhere first removes what earlier ones left
    return subprocess.run([*map(str, command)], cwd=folder, env=kept, capture_output=True, text=True, timeout=600)


def done(*command: object, folder: Path = ROOT) -> str:
    """Call a program that succeeds, and return what it printed."""
    called = call(*command, folder=folder)
    assert called.returncode == 0, f"{command}\n{called.stdout}\n{called.stderr}"
    return called.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files of the document, and an environment that has a wheel of irbench.

    What others wrote is taken from ours, because to fetch it again takes minutes.
    """
    folder = tmp_path_factory.mktemp("extending")
    done(UV, "venv", "-q", "--python", sys.executable, folder / ".venv")
    (site,) = (folder / ".venv" / "lib").glob("python*/site-packages")
    (site / "others.pth").write_text(sysconfig.get_path("purelib"))
    done(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder / "wheels")
    (wheel,) = (folder / "wheels").glob("*.whl")
    done(*installing(folder), wheel)
    return folder


def installing(folder: Path) -> tuple[object, ...]:
    python = folder / ".venv" / "bin" / "python"
    return (UV, "pip", "install", "-q", "--no-cache", "--python", python, "--no-deps", "--no-build-isolation")


@pytest.fixture(scope="module")
def reader(folder: Path) -> Iterator[Reader]:
    """Yield somebody who has followed the whole document in that environment."""
    (folder / "here").mkdir()
    reader = Reader(folder / "here", folder / "programs")
    python = shlex.quote(str(folder / ".venv" / "bin" / "python"))
    reader.instead_of("python", f'exec {python} "$@"')
    reader.instead_of("pytest", f'exec {python} -m pytest -p no:cacheprovider "$@"')
    reader.instead_of("irbench", f'exec {python} -P {shlex.quote(small_calls.__file__)} "$@"')
    reader.instead_of("pip", f'shift; exec {shlex.join(map(str, installing(folder)))} "$@"')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder))  # where runs are stored
        for block in blocks(TEXT):
            reader.follow(block)
        yield reader


def files(distribution: str) -> list[str]:
    return [block.text for block in blocks(TEXT) if (block.file or "").startswith(f"{distribution}/")]


@pytest.mark.parametrize(("distribution", "modules"), [("irbench-numpy", 2), ("irbench-chains", 3)])
def test_a_whole_distribution_is_short_and_its_test_is_three_lines(distribution: str, modules: int) -> None:
    *shown, test = files(distribution)
    lines = [line for text in shown[:modules] for line in text.splitlines() if line.strip()]
    assert len(lines) < 90
    assert len(test.splitlines()) <= len(["# a comment", "import", "", "", "class", "backend", "source"])


def test_every_step_of_the_document_works_after_those_before_it(reader: Reader) -> None:
    printed = "".join(reader.printed)
    assert len(re.findall(r"^=+ (\d+ passed.*) in ", printed, re.MULTILINE)) == 2, printed
    assert not re.search(r"\d failed", printed), printed
    assert re.search(r"^numpy +onnx ", printed, re.MULTILINE)
    assert re.search(r"^ numpy .* (preview|1 baseline)", printed, re.MULTILINE), printed
    assert "mismatch" not in printed


def test_the_modules_of_the_document_conform_to_the_protocols(reader: Reader) -> None:
    modules = ("irbench-numpy/irbench_numpy.py", "irbench-chains/irbench_chains.py", "irbench-chains/chains.py")
    done(reader.programs / "python", "-m", "mypy", "--strict", *modules, folder=reader.folder)


FAILURES = {
    "Reused": {"test_outputs_stay_valid_after_the_next_run": "fetch() must return arrays of its own"},
    "Stale": {"test_it_answers_what_a_reference_answers": "stage() must bring the new inputs"},
    "Shared": {"test_slots_answer_for_themselves": "Slots may share no buffer and no inputs"},
    "Wrong": {"test_it_answers_what_a_reference_answers": "output 0 differs by up to 0.5"},
    "Mislabelled": {"test_it_tells_what_it_really_uses": "assert 'tpu' == 'cpu'"},
    "Obliging": {
        "test_it_refuses_a_device_that_is_not_here": "obliging accepted the device abacus",
        "test_it_refuses_an_option_that_it_does_not_know": "obliging accepted the option no_such_option",
        "test_it_computes_in_the_precision_asked_for": "compile() must refuse a precision",
    },
    "Unphased": {"test_it_loads_and_then_compiles": 'compile() must open phases("load") once'},
    "Twice": {"test_a_queued_request_is_done_exactly_once": "start(done) must call done once"},
    "Restless": {"test_it_uses_no_more_processors": "processors busy with 1 threads in all"},
    "Eager": {"test_it_is_described_without_importing": "eager imports onnx before it is asked to."},
    "Unlike": {"test_": "differs from the original at batch 1"},
    "Unseeded": {"test_the_same_seed_gives_the_same_graph": "wrote different ONNX files"},
    "Greedy": {
        "test_accepting_a_source_imports_no_framework": "greedy imports chains",
        "test_asking_whose_model_it_is": "assert not exporter.owns(object())",
        "test_it_accepts_its_own_source_and_nothing_unknown": 'accepts() must return "no"',
    },
    "Misfit": {"test_the_inputs_of_every_artifact": "it is float32 in place of float64"},
    "Batchless": {
        "test_the_bundle_is_its_own": "an input must have a dimension called 'batch'",
        "test_the_inputs_of_every_artifact": "its shape is (1, 4) in place of ('batch', 4)",
    },
    "Hollow": {"test_it_is_described_by_distributions": "describe() must name the distributions"},
    "Recording": {},
    "Losing": {"test_every_inference_is_in_exactly_one_profile": "assert 27 == 30"},
    "MakingUp": {"test_it_refuses_to_tell_of_inferences": "finish_profile() must raise Refusal"},
    "Littering": {"test_it_leaves_no_files_behind": "close() must remove the files"},
    "Elsewhere": {"test_operators_tell_what_they_are": "every operator must have a name, a kind and the device cpu"},
    "Nameless": {"test_every_node_is_in_an_operator": "No operator of nameless names these nodes: "},
    "Everlasting": {"test_operators_take_time": "OperatorTime.duration_ns is in nanoseconds"},
    "Late": {"test_operators_begin_within": "start_ns counts from the start of the inference"},
    "Otherwise": {"test_a_profiled_session_is_set_as_any_other": "compile_profiled() must set what compile() sets"},
    "Silent": {"test_": "silent recorded no operators of 30 inferences."},
}
"""By the class of a part that is broken in one way: the checks that find it, and a part of what they say."""


@pytest.fixture(scope="module")
def judged(reader: Reader, folder: Path) -> dict[str, str]:
    """Return what pytest prints of each check that broken parts fail."""
    plugins = folder / "broken_plugins"  # elsewhere than in the checkout, whose settings of pytest would hold
    shutil.copytree(ROOT / "tests" / "broken_plugins", plugins)
    done(*installing(folder), plugins)
    options = ("-p", "no:cacheprovider", "-q", "-k", "Restless or not processors")
    printed = call(
        reader.programs / "python", "-m", "pytest", *options, plugins / "broken_parts.py", folder=plugins
    ).stdout
    _, *sections = re.split(r"^_+ (?:ERROR at setup of )?Test(\w+\.test_\S+) _+$", printed, flags=re.MULTILINE)
    return dict(zip(sections[::2], sections[1::2], strict=True))


@pytest.mark.slow
def test_a_contract_finds_what_is_broken_and_nothing_else(judged: dict[str, str], subtests: pytest.Subtests) -> None:
    for name, expected in FAILURES.items():
        failed = {test.partition(".")[2]: text for test, text in judged.items() if test.startswith(f"{name}.")}
        with subtests.test(name=name):
            for test, text in failed.items():
                assert any(test.startswith(check) and said in text for check, said in expected.items()), (test, text)
            assert all(any(test.startswith(check) for test in failed) for check in expected), [*failed]


@pytest.mark.slow
def test_failures_are_sentences_and_no_tracebacks_of_the_contract(judged: dict[str, str]) -> None:
    for test, text in judged.items():
        assert "During handling" not in text, text
        assert "irbench/testing/" not in text or test.startswith("Crashing."), text
    assert "ValueError: the runtime has no room" in judged["Crashing.test_outputs_stay_valid_after_the_next_run[copy]"]
    assert "There is no backend 'no_such_backend'" in judged["Missing.test_it_tells_what_it_really_uses"]
