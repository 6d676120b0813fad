"""What a user sees of an error is one line, whatever names it quotes."""

from __future__ import annotations

import pickle
import traceback

from irbench.errors import IrbenchError, one_line


def test_a_message_is_kept_as_it_is_where_it_is_one_line() -> None:
    assert one_line("ResNet-50 löst das: 1 + 1  =  2") == "ResNet-50 löst das: 1 + 1  =  2"


def test_what_would_break_the_line_or_colour_the_terminal_is_taken_out() -> None:
    error = IrbenchError("no tensor 'a\n\x1b[31mb\udcff'", hint="rename\tit")
    assert error.message == "no tensor 'a \N{REPLACEMENT CHARACTER}[31mb\N{REPLACEMENT CHARACTER}'"
    assert error.hint == "rename it"


def test_an_endless_name_is_cut_in_the_middle() -> None:
    cut = one_line("start" + "a" * 100_000 + "end")
    assert len(cut) < 1100
    assert cut.startswith("start")
    assert cut.endswith("end")


def test_a_traceback_shows_the_hint_once_below_the_message() -> None:
    error = IrbenchError("pandas is not installed.", hint="Install it with: pip install pandas")
    for shown in (error, pickle.loads(pickle.dumps(error))):
        lines = "".join(traceback.format_exception(shown)).splitlines()
        assert lines[-1] == "hint: Install it with: pip install pandas"
        assert lines[-2].endswith("pandas is not installed.")
        assert sum("pip install" in line for line in lines) == 1


def test_an_error_without_a_remedy_has_no_hint_in_its_traceback() -> None:
    assert "hint" not in "".join(traceback.format_exception(IrbenchError("Nothing can be done.")))
