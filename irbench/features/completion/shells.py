"""How shells ask for completions of words that hold what they break words at, or would execute.

Bash breaks words at ``:`` and ``=``, which ``ort:cuda`` and ``tf.KEY=VALUE`` hold; click's script for fish at ``,``.
Files may be called ``$(command).onnx``: zsh and fish quote what they insert. Bash inserts what it is given, and where
it quotes names of files (``compopt -o filenames``), it leaves ``$`` and the backquote in what several have in common.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container
from dataclasses import dataclass
from typing import Any, ClassVar

from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

_SCRIPT = """\
%(complete_func)s() {
    local response completion value
    response=$(env COMP_LINE="${COMP_LINE:0:$COMP_POINT}" COMP_WORDBREAKS="$COMP_WORDBREAKS" \\
        %(complete_var)s=bash_complete "$1")
    COMPREPLY=()
    while IFS= read -r completion; do
        value=${completion#*,}
        case ${completion%%%%,*} in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain)
                COMPREPLY+=("$value")
                if [[ $value == *[.=/] ]]; then compopt -o nospace; fi
                ;;
        esac
    done <<< "$response"
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class _OnOneLine(ShellComplete):
    """Leaves out names that do not print: answers are lines, and a name with a line break would forge another one."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[Any]]:
        """Return what fits the word that is being typed; see click."""
        items = super().get_completions(args, incomplete)
        return [item for item in items if str(item.value).isprintable()]


@add_completion_class
class _Unforged(_OnOneLine, ZshComplete):
    """Completes as click does."""


@add_completion_class
class _WholeLists(_OnOneLine, FishComplete):
    """Offers ``none,basic`` where it would stop at the first comma."""

    source_template: ClassVar[str] = FishComplete.source_template.replace(
        'string split ","', 'string split --max 1 ","'
    )


@add_completion_class
class _WholeWords(_OnOneLine, BashComplete):
    """Completes words as they were typed, and answers with the part of them that bash is about to replace, quoted."""

    source_template: ClassVar[str] = _SCRIPT

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the one that is being typed, and this one; see click."""
        line = os.environ["COMP_LINE"]
        _, *words = split_arg_string(line)
        breaks = set(":=") & set(os.environ.get("COMP_WORDBREAKS", ":="))
        typed = _last_word(line, breaks)
        self._kept, self._quote = typed.before, typed.quote
        return words, (words.pop() if typed.is_begun and words else "")

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """Return the kind of an item and what replaces the last part of the word; see click."""
        return f"{item.type},{_quoted(item.value.removeprefix(self._kept), self._quote)}"


@dataclass(frozen=True)
class _LastWord:
    """The word that is being typed.

    ``before`` is what stands before the part that bash replaces, without quotes, and without the option of a value;
    ``quote`` the quote that is open at its end.
    """

    is_begun: bool
    before: str
    quote: str


def _last_word(line: str, breaks: Container[str]) -> _LastWord:
    """Return the last word of a line; bash replaces it from the open quote, or the last character that breaks words."""
    word = part = quoted = 0
    quote, is_escaped = "", False
    for place, character in enumerate(line):
        if is_escaped:
            is_escaped = False
        elif character == "\\" and quote != "'":
            is_escaped = True
        elif quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote, quoted = character, place + 1
        elif character.isspace() or character in breaks:
            word, part = place + 1 if character.isspace() else word, place + 1
    before = "".join(split_arg_string(line[word : quoted if quote else part]))
    return _LastWord(word < len(line), before.partition("=")[2] if before.startswith("-") else before, quote)


def _quoted(text: str, quote: str) -> str:
    """Return text as bash reads it as itself, behind an open quote or without one.

    History is expanded between double quotes even behind a backslash, which single quotes prevent.
    """
    if quote == "'":
        return text.replace("'", "'\\''")
    if quote:
        return re.sub(r'[\\$`"]', r"\\\g<0>", text).replace("!", "\"'!'\"")
    return re.sub(r"[^\w./:=,@%+-]", r"\\\g<0>", text)


def completion_class(shell: str) -> type[ShellComplete]:
    """Return what speaks with a shell: ``bash``, ``zsh`` or ``fish``."""
    speaker = get_completion_class(shell)
    assert speaker is not None
    return speaker
