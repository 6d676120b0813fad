"""What a shell is offered while a command line is typed, asked for as a shell asks."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from documents import ENVIRONMENT, example
from front_door import irbench
from stored_plans import stored_plan

from irbench.store.folders import default_root
from irbench.store.profiles import begin_profile
from irbench.store.runs import RunWriter, Store


def offered(line: str, shell: str = "bash") -> list[str]:
    """Return what a shell is told to offer for the last word of a line, as ``kind,value``."""
    words = shlex.split(line) + [""] * line.endswith(" ")
    asked = {
        "_IRBENCH_COMPLETE": f"{shell}_complete",
        "COMP_LINE": line,
        "COMP_WORDS": " ".join(map(shlex.quote, words)),
        "COMP_CWORD": words[-1] if shell == "fish" else str(len(words) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-m", "irbench"], capture_output=True, text=True, check=True, env={**os.environ, **asked}
    )
    assert done.stderr == ""
    return done.stdout.split()


def measured() -> RunWriter:
    writer = Store(default_root()).begin(ENVIRONMENT, stored_plan())
    writer.commit(replace(writer.document, groups=(example(),), complete=True))
    return writer


@pytest.mark.ci
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("irbench ru", ["plain,run"]),
        ("irbench results ", ["plain,export", "plain,import", "plain,rm"]),
        ("irbench run --prec", ["plain,--precision"]),
        ("irbench run --backends openv", ["plain,openvino"]),
        ("irbench run --backends ort,openv", ["plain,ort,openvino"]),
        ("irbench run --backends ort,or", []),
        ("irbench run --backends ort:", ["plain,cpu", "plain,cuda", "plain,openvino"]),
        ("irbench run --backends openvino,ort:cu", ["plain,cuda"]),
        ("irbench run --backends=ort:cu", ["plain,cuda"]),
        ("irbench run --backends nothing:", []),
        ("irbench run --set openv", ["plain,openvino."]),
        ("irbench run --set tf.gra", ["plain,tf.grappler="]),
        ("irbench run --set tf.grappler=", []),
        ("irbench run --set known-a.", []),
        (
            "irbench run --optimize none,bas",
            [f"plain,none,basic{item}" for item in ("", "-fp16", "-bf16", "-int8", "-int8-static", "-int8-dynamic")],
        ),
        ("irbench run --precision fp32,bf", ["plain,fp32,bf16"]),
        ("irbench run --io ", ["plain,copy", "plain,bound"]),
        ("irbench run alexn", ["plain,alexnet"]),
        ("irbench export alex", ["plain,alexnet"]),
        ("irbench optimize alex", ["plain,alexnet"]),
        ("irbench optimize alexnet --level ba", ["plain,basic"]),
        ("irbench models --family det", ["plain,detector"]),
        ("irbench run ./my", ["file,./my"]),
        ("irbench results --backend tf-", ["plain,tf-xla"]),
        ("irbench results import x", ["file,x"]),
        ("irbench show --format js", ["plain,json", "plain,jsonl"]),
        ("irbench completion ", ["plain,bash", "plain,zsh", "plain,fish"]),
    ],
)
def test_a_shell_is_offered_what_fits(line: str, expected: list[str]) -> None:
    assert offered(line) == expected


@pytest.mark.ci
def test_the_files_of_models_are_offered_beside_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (
        "alexn_mine.onnx",
        "alexn.keras",
        "alexn.txt",
        "other.onnx",
        "alexns/one.onnx",
        "alexns/.git/x",
    ):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()
    files = ["plain,alexn.keras", "plain,alexn_mine.onnx", "plain,alexns/"]
    assert offered("irbench run alexn") == ["plain,alexnet", *files]
    assert offered("irbench run alexns/") == ["plain,alexns/one.onnx"]
    assert offered("irbench run ./o") == ["plain,./other.onnx"]
    assert {"plain,other.onnx", "plain,alexns/"} & set(offered("irbench run ")) == {"plain,other.onnx"}
    assert offered("irbench results --model alexn") == ["plain,alexnet"]


@pytest.mark.ci
@pytest.mark.parametrize("command", ["show", "results rm", "results export"])
def test_stored_runs_are_offered_newest_first(command: str) -> None:
    runs = sorted((measured().document.run_id for _ in range(2)), reverse=True)
    assert offered(f"irbench {command} ") == ["plain,latest", *(f"plain,{run}" for run in runs)]
    assert offered(f"irbench {command} {runs[0].lower()}") == [f"plain,{runs[0]}"]


def test_runs_are_looked_for_where_the_line_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = measured().document.run_id
    root = default_root()
    monkeypatch.setenv("IRBENCH_RESULTS", str(tmp_path))
    assert offered("irbench show ") == ["plain,latest"]
    assert offered(f"irbench show --results {root} 0") == [f"plain,{run}"]


@pytest.mark.ci
def test_stored_profiles_are_offered_newest_first_from_where_the_line_says(tmp_path: Path) -> None:
    old, new = "01JDA000000000000000000000", "01JDB000000000000000000000"
    for profile_id, month in ((old, "2026-11"), (new, "2026-12")):
        begin_profile(tmp_path, f"{month}-01T00:00:00+00:00", profile_id).commit(b"{}")
    show = f"irbench profile --results {tmp_path} --show "
    assert offered(show) == ["plain,latest", f"plain,{new}", f"plain,{old}"]
    assert offered(show + old.lower()) == [f"plain,{old}"]
    assert offered(show + "saved") == ["file,saved"]
    assert offered("irbench profile --show ") == ["plain,latest"]


@pytest.mark.ci
@pytest.mark.parametrize(
    "line",
    [
        "irbench ",
        "irbench run --backends ",
        "irbench run --backends ort:",
        "irbench run --set tf.",
        "irbench run r",
        "irbench show ",
        "irbench profile --show ",
    ],
)
def test_nothing_heavy_is_imported_while_a_line_is_typed(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_IRBENCH_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_LINE", line)
    code = (
        "import atexit, sys; from irbench.cli import main;"
        "atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr)); main()"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stderr.split()
    assert "click" in loaded
    assert not {"numpy", "onnx", "onnxruntime", "openvino", "tensorflow", "rich", "sqlite3"} & set(loaded)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_asks_irbench_again(shell: str) -> None:
    called = irbench("completion", shell)
    assert called.code == 0
    assert f"_IRBENCH_COMPLETE={shell}_complete" in called.out
    assert offered("irbench ru", shell)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_is_one_that_it_can_read(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed here")
    script = irbench("completion", shell).out
    read = subprocess.run([shell, "-n"], input=script, text=True, check=False, capture_output=True)
    assert (read.returncode, read.stderr) == (0, "")


@pytest.mark.parametrize(
    ("line", "replacing"),
    [
        ("irbench run --set tf.gra", ["tf.grappler="]),
        ("irbench run --backends openvino,ort:c", ["cpu", "cuda"]),
        ("irbench run --backends=openv", ["openvino"]),
        ("irbench run 'resnet50' --io ", ["copy", "bound"]),
    ],
)
def test_bash_puts_in_what_replaces_the_last_part_of_a_word(line: str, replacing: list[str]) -> None:
    script = irbench("completion", "bash").out
    program = Path(sys.executable).with_name("irbench")
    ask = f"COMP_LINE={shlex.quote(line)} COMP_POINT={len(line)}; _irbench_completion {program} 2>/dev/null"
    show = r'''printf '%s\n' "${COMPREPLY[@]}"'''
    done = subprocess.run(["bash", "-c", f"{script}\n{ask}\n{show}"], text=True, capture_output=True, check=True)
    assert done.stdout.splitlines() == replacing


@pytest.mark.parametrize(
    ("line", "offers"),
    [("irbench run --backends op", "openvino"), ("irbench run --optimize none,bas", "none,basic")],
)
def test_fish_offers_whole_lists(line: str, offers: str) -> None:
    script = irbench("completion", "fish").out
    assert script.count("string split --max 1") == 1
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed here")
    done = subprocess.run(
        ["fish", "-c", f"{script}\ncomplete -C {shlex.quote(line)}"],
        text=True,
        capture_output=True,
        check=True,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
    )
    assert offers in done.stdout.splitlines()
