"""An option that a command does not have is answered by what helps: a near name, or another command."""

from __future__ import annotations

import click

from irbench.cli.unknown_options import missing_value_hint, unknown_option_hint

RUN = click.Command(
    "run",
    params=[
        click.Option(["--instances"], help="Processes to measure."),
        click.Option(["--budget"], metavar="TIME", help="Time in all."),
        click.Option(["--pace"], help="One call each so many milliseconds."),
        click.Option(["--counters"], is_flag=True),
    ],
)
OTHERS = {"irbench run": RUN, "irbench serve": click.Command("serve", params=[click.Option(["--rate"])])}


def test_a_slip_of_the_finger_is_asked_about() -> None:
    assert unknown_option_hint("--budgt", RUN, OTHERS) == "Did you mean --budget?"
    assert unknown_option_hint("--instance", RUN, OTHERS) == "Did you mean --instances?"


def test_the_option_of_another_command_names_the_command() -> None:
    assert unknown_option_hint("--rate", RUN, OTHERS) == "It is an option of irbench serve."


def test_a_word_is_no_slip_of_others_with_the_same_letters() -> None:
    assert unknown_option_hint("--launches", RUN, OTHERS) == ""


def test_nothing_is_guessed_where_nothing_is_near() -> None:
    assert unknown_option_hint("--qqqq", RUN, OTHERS) == ""


def test_a_missing_value_is_answered_by_how_it_is_written() -> None:
    assert missing_value_hint("--budget", RUN) == "Give its value: --budget TIME."
    assert missing_value_hint("--nothing", RUN) == ""
