"""Keywords of Python become the request that options of the command line become."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from irbench.cli.keyword_files import keywords_modules
from irbench.errors import IrbenchError
from irbench.features.bisect.options import BISECT
from irbench.features.run.command import command
from irbench.options.keywords import RunKeywords
from irbench.options.option import keyword_descriptions, names_keywords
from irbench.options.run import RESUME, RUN, RunOptions, run_options


def test_the_keywords_are_written_as_their_options_are_declared():
    for path, text in keywords_modules().items():
        assert path.read_text() == text, "write it again: make generated"


def test_nothing_asked_is_what_the_command_line_asks_by_default():
    context = command.make_context("run", [])
    assert context.params["streams"] == RunOptions().streams
    repeated = {"shape", "set", "vary", "value", "feedback", "cells"}
    given = {name: value for name, value in context.params.items() if name in RUN.options and name not in repeated}
    assert RunOptions(**given) == RunOptions() == run_options((), {})


def test_values_are_read():
    asked = run_options(
        [Path("m.onnx")],
        {"backends": "ort", "batch": [1, 8], "budget": "5m", "within": 0.05, "threads": "native", "results": "runs"},
    )
    assert asked.models == ("m.onnx",)
    assert (asked.backends, asked.batch, asked.budget, asked.within) == (("ort",), (1, 8), 300.0, 0.05)
    assert (asked.threads, asked.results) == (("native",), Path("runs"))


def test_an_unknown_keyword_is_a_type_error_that_names_the_nearest():
    wrong: Any = {"backend": "ort"}
    with pytest.raises(TypeError, match=r"'backend'\. Did you mean backends\?"):
        run_options([], wrong)


def test_no_keyword_is_taken_as_it_comes(subtests: pytest.Subtests):
    for keyword in RunKeywords.__annotations__:
        with subtests.test(keyword=keyword):
            wrong: Any = {keyword: object()}
            with pytest.raises(IrbenchError, match=f"^{keyword}=.* is not valid"):
                run_options([], wrong)


def test_none_is_the_default_of_every_keyword(subtests: pytest.Subtests):
    for keyword in RunKeywords.__annotations__:
        with subtests.test(keyword=keyword):
            nothing: Any = {keyword: None}
            assert run_options([], nothing) == RunOptions()


@pytest.mark.parametrize("keyword", ["backends", "batch", "streams", "precision", "optimize", "cpus"])
def test_an_empty_list_is_refused(keyword: str):
    nothing: Any = {keyword: []}
    with pytest.raises(IrbenchError, match=rf"^{keyword}=\[\] is not valid: it is empty\.(\n|$)") as caught:
        run_options([], nothing)
    assert caught.value.hint.startswith("Write it like")


@pytest.mark.parametrize(
    ("keyword", "value", "example"),
    [
        ("budget", "soon", '"90s"'), ("batch", 0, "[1, 8]"), ("io", "copied", '"bound"'), ("seed", -1, "0"),
        ("set", {"ort": 1}, '{"ort"'), ("cpus", "a", "0-3"), ("within", "2", "0.02"),
        ("quick", "no", "True"), ("tail", 1, "True"), ("name", 5, '"before"'),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused_with_an_example(keyword: str, value: object, example: str):
    wrong: Any = {keyword: value}
    with pytest.raises(IrbenchError, match=f"^{keyword}=") as caught:
        run_options([], wrong)
    assert example in caught.value.hint


def test_what_a_docstring_says_of_its_options_gives_way_to_each_of_them_however_many_lines_it_has():
    @names_keywords(RESUME)
    def call(**options: object) -> None:
        """Call something.

        Args:
            options: What is allowed,
                and what is not.

        Returns:
            Nothing.
        """

    *_, arguments, returns = (call.__doc__ or "").split("\n\n")
    assert arguments.split("\n") == ["Args:", *"\n".join(keyword_descriptions(RESUME)).split("\n")]
    assert returns.startswith("Returns:")


@pytest.mark.parametrize("name", BISECT.single)
def test_an_option_with_one_value_shows_one_and_is_read_as_in_a_run(name: str):
    single, several = BISECT.options[name].kind, RUN.options[name].kind
    assert "," not in single.metavar
    assert single.read == several.read
    assert len(single.read(single.metavar.partition("|")[0])) == 1
