"""What a user sees of an error is one line, whatever names it quotes."""

from __future__ import annotations

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
