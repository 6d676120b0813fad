"""Messages and cells: words are wrapped, and a command that is to be typed stays in one piece."""

from __future__ import annotations

import pytest

from irbench.render.line_wrapping import fold, wrap_message

COMMAND = "irbench export 'my nets.py:build' --shape sequence=64"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("hint: Check the path.", ["hint: Check the path."]),
        (f"hint: Run it: {COMMAND}", ["hint: Run it:", COMMAND]),
        ("hint: one two three four five: --shape a=1", ["hint: one two three four", "five: --shape a=1"]),
        ("hint: See irbench run --help.  Two  blanks", ["hint: See irbench run", "--help. Two blanks"]),
        ("error: a: irbench b", ["error: a: irbench b"]),
        (f"hint: Run it: A=1 {COMMAND}", ["hint: Run it:", f"A=1 {COMMAND}"]),
        ("hint: Make one: uv venv --python 3.12", ["hint: Make one:", "uv venv --python 3.12"]),
        (
            "error: no file /a/path/that/is/long/net.onnx here",
            ["error: no file", "/a/path/that/is/long/net.onnx", "here"],
        ),
    ],
)
def test_words_are_wrapped_and_neither_commands_nor_paths_are_broken(text: str, lines: list[str]) -> None:
    assert wrap_message(text, 25) == lines


def test_options_are_broken_behind_their_sign_where_words_fold_at_spaces():
    assert fold("openvino x2 PERFORMANCE_HINT=THROUGHPUT", 18, breaks_at="=") == [
        "openvino x2",
        "PERFORMANCE_HINT=",
        "THROUGHPUT",
    ]
    assert fold("", 18, breaks_at="=") == [""]
