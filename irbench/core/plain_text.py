"""Text from other sources, made harmless for whoever prints it.

Names in models, archives and run documents may hold anything: escape sequences that steer a terminal, marks that turn
the direction of writing, line breaks that forge a line of output. Every place that prints text calls one of these.
"""

from __future__ import annotations

import re

MARKED_OPTION = re.compile(r"`(-[^`]*)`")
"""An option with its values between backticks, in a text that is for the command line and for Python."""


def unmarked(text: str) -> str:
    """Return a text for the command line: options are typed as they stand there, without the backticks."""
    return MARKED_OPTION.sub(r"\1", text)


def plain(text: str) -> str:
    """Return text on one line: blanks for what is white space, U+FFFD for other characters that do not print."""
    return text if text.isprintable() else "".join(map(_shown, text))


def plain_lines(text: str) -> str:
    """Return text whose lines each are plain: only line feeds end lines, as only they do on a terminal."""
    return text if text.isprintable() else "\n".join(map(plain, text.split("\n")))


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    return " " if character.isspace() else "\N{REPLACEMENT CHARACTER}"
