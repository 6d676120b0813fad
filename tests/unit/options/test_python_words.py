"""Sentences with options as Python names them."""

from __future__ import annotations

import inspect

import pytest

import irbench
from irbench.errors import IrbenchError, UnknownKeyword
from irbench.features.optimize.options import OPTIMIZE
from irbench.options.option import CommandOptions, flag_of
from irbench.options.python_words import with_keywords
from irbench.options.run import RUN
from irbench.render.line_wrapping import wrap
from irbench.terminal.stderr import say


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("Add a size: --shape seq=128", 'Add a size: shape={"seq": 128}'),
        ("Add: --shape seq=128 --shape mask=1x8", 'Add: shape={"seq": 128, "mask": "1x8"}'),
        ("Add: --shape 'seq=128'", 'Add: shape={"seq": 128}'),
        ("use --streams 1.", "use streams=1."),
        ("(compare them with --precision fp32,native)", '(compare them with precision=["fp32", "native"])'),
        ("Use --precision native.", 'Use precision="native".'),
        ("repeat it with --cpus 0-3, or wait", 'repeat it with cpus="0-3", or wait'),
        ("--set ort.key=4", 'set={"ort": {"key": 4}}'),
        ("--cell mine=a.b:f", 'cells={"mine": "a.b:f"}'),
    ],
)
def test_a_flag_and_its_value_become_what_python_takes(typed: str, written: str):
    assert with_keywords(typed, RUN.options) == written


@pytest.mark.parametrize(
    "typed", ["--shape seq=128", "--shape x=1x8", "--streams 1,4", "--precision native", "--cpus 0-3", "--no-lock"]
)
def test_what_is_written_for_python_is_what_it_takes(typed: str):
    keywords = eval(f"dict({with_keywords(typed, RUN.options)})")
    assert RUN.read(keywords)[0] | RUN.read(keywords)[1]


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("Leave --feedback and --shapes out.", "Leave `feedback` and `shapes` out."),
        ("a larger --budget has more launches", "a larger `budget` has more launches"),
        ("choose another name with --name.", "choose another name with `name`."),
    ],
)
def test_words_that_follow_a_flag_are_no_value(typed: str, written: str):
    assert with_keywords(typed, RUN.options) == written


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("Give --backends ort,openvino.", 'Give backends=["ort", "openvino"].'),
        ("Give `--backends ort`.", 'Give backends="ort".'),
        ("`--shape a=1 --shape 'b=2x3'`, `--name`/`--quick`", 'shape={"a": 1, "b": "2x3"}, `name`/quick=True'),
        ("`--nothing 1` or `--streams 2`", "`--nothing 1` or streams=2"),
    ],
)
def test_what_is_marked_or_certain_is_python_s(typed: str, written: str):
    assert with_keywords(typed, RUN.options) == written


def test_the_command_line_shows_no_marks(capsys: pytest.CaptureFixture[str]):
    say("hint: Give `--backends ort`, or `MODEL`.")
    assert capsys.readouterr().err == "hint: Give --backends ort, or `MODEL`.\n"
    assert wrap("Give `--backends ort`.", 80) == ["Give --backends ort."]


@pytest.mark.parametrize(
    "text",
    [
        "--baseline because it is faster, or --quick",
        "--data a.npz --data b.npz and --quick",
        "--threads 4/--streams 2 and --quick",
        "--quick/--thorough or --streams 2",
        "`--streams many` or --quick",
        "Add a row: --cell name=... or --quick",
        "Set it with --threads N, or --quick",
    ],
)
def test_a_text_with_a_flag_that_may_mean_several_things_is_not_half_python(text: str):
    assert with_keywords(text, RUN.options) == text


@pytest.mark.parametrize(
    "command",
    [
        "python -m tf2onnx.convert --tflite a --output m.onnx",
        "irbench run model.onnx --batch 8",
        "run: irbench doctor --thorough",
        "docker update --cpus 3 NAME",
        "a - b -x",
    ],
)
def test_commands_stay_as_they_are_typed(command: str):
    assert with_keywords(command, RUN.options) == command


def test_a_sentence_behind_a_command_is_one_again():
    assert with_keywords("Run irbench doctor --quick, or use --quick.", RUN.options) == (
        "Run irbench doctor --quick, or use quick=True."
    )


def test_a_short_flag_is_the_keyword_where_the_command_has_it():
    assert with_keywords("Give another path with -o.", OPTIMIZE.options) == "Give another path with `output`."
    assert with_keywords("Give another path with -o.", RUN.options) == "Give another path with -o."


@pytest.mark.parametrize("command", [RUN, OPTIMIZE])
def test_no_flag_of_a_command_is_left(command: CommandOptions[object]):
    for name, declared in command.options.items():
        assert with_keywords(f"Leave `{flag_of(name, declared)}` out.", command.options) in (
            f"Leave `{name}` out.",
            f"Leave {name}=True out.",
        )


def test_errors_of_functions_name_keywords():
    with pytest.raises(IrbenchError) as caught:
        irbench.plan("nothing.onnx", quick=True, thorough=True)
    assert "--" not in caught.value.message
    assert "quick=True" in caught.value.message
    assert caught.value.args == (caught.value.message,)


def test_notes_say_the_same_as_the_hint_and_those_of_others_stay():
    error = IrbenchError("wrong --batch", hint="use --streams 1", details=("first",))
    error.add_note("of somebody else")
    error.reword(lambda text: with_keywords(text, RUN.options))
    assert error.hint == "use streams=1"
    assert error.__notes__ == ["first", "hint: use streams=1", "of somebody else"]


def test_ipython_shows_an_error_without_frames(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("IRBENCH_DEBUG", raising=False)
    error = IrbenchError("It is wrong.\x1b[2J", hint="Do it right.")
    first, second = error._render_traceback_()
    assert "It is wrong." in first
    assert "\x1b[2J" not in first
    assert second == "hint: Do it right."
    with pytest.raises(TypeError) as caught:
        irbench.plan("m.onnx", bach=3)  # type: ignore[call-arg]
    assert isinstance(caught.value, UnknownKeyword)
    assert len(caught.value._render_traceback_()) == 1


def test_ipython_shows_the_frames_where_they_are_asked_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("IRBENCH_DEBUG", "1")
    with pytest.raises(IrbenchError) as caught:
        irbench.plan("nothing.onnx", quick=True, thorough=True)
    assert any(__file__ in line for line in caught.value._render_traceback_())


def test_functions_keep_their_name_and_source():
    assert irbench.run.__name__ == "run"
    assert "def run(" in inspect.getsource(irbench.run)
