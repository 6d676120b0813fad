"""Progress in a notebook: one line that changes."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell

from irbench.api.notebook_display import NotebookDisplay
from irbench.api.progress import reporting
from irbench.core.activity import Activity, Outlook
from irbench.options.run import RUN
from irbench.runner.run_progress import Progress

MOMENT = Progress("<b>net", Activity("block", block=3, clean_blocks=8), 2, 12, 31.0, 150.0, Outlook("ort", None, 0.018))


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> Any:
    shell = InteractiveShell()
    publisher = CapturingDisplayPublisher()
    monkeypatch.setattr(shell, "display_pub", publisher)
    monkeypatch.setattr(InteractiveShell, "_instance", shell)
    monkeypatch.setattr(InteractiveShell, "initialized", classmethod(lambda cls: True))
    monkeypatch.setattr(InteractiveShell, "instance", classmethod(lambda cls: shell))
    monkeypatch.setattr("IPython.get_ipython", lambda: SimpleNamespace(kernel=object()))
    return publisher.outputs


def test_one_output_changes_and_is_empty_when_the_call_ends(published: list[dict[str, Any]]):
    with NotebookDisplay() as display:
        display.status("exporting net")
        display.show(MOMENT)
        display.show(replace(MOMENT, launch=3, elapsed_s=40.0))
    assert len({output["transient"]["display_id"] for output in published}) == 1
    assert [output["update"] for output in published] == [False, True, True, True]
    texts = [output["data"]["text/plain"] for output in published]
    assert texts[0] == "exporting net"
    assert "launch 2 of at most 12" not in texts[0]
    assert "3 of at most 12" in texts[2]
    assert texts[-1] == ""


def test_names_are_escaped(published: list[dict[str, Any]]):
    NotebookDisplay().show(MOMENT)
    assert "<b>" not in published[0]["data"]["text/html"]


def test_moments_that_follow_at_once_draw_nothing(published: list[dict[str, Any]]):
    display = NotebookDisplay()
    for number in range(50):
        display.show(replace(MOMENT, elapsed_s=31.0 + number / 1000))
    assert len(published) == 1


def test_a_call_that_shows_nothing_leaves_no_output(published: list[dict[str, Any]]):
    with NotebookDisplay():
        pass
    assert published == []


def test_messages_are_lines_of_their_own_in_the_words_of_python(
    published: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
):
    with reporting("auto", RUN) as reporter:
        reporter.say("use --streams 1")
        reporter.status("reading net")
    assert capsys.readouterr().err == "use streams=1\n"
    assert published[0]["data"]["text/plain"] == "reading net"


def test_a_call_in_a_notebook_is_told_the_budget_that_intervals_take_as_a_keyword(
    published: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
):
    with reporting("auto", RUN) as reporter:
        reporter.show(replace(MOMENT, activity=Activity("over-budget", needed_s=90)))
    assert 'about budget="90s"' in published[0]["data"]["text/plain"]
    assert 'about budget="90s"' in capsys.readouterr().err
