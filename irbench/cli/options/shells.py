"""How shells ask for completions of words that hold what they break words at.

Bash breaks them at ``:`` and ``=``, which ``ort:cuda`` and ``tf.KEY=VALUE`` hold; click's script for fish at ``,``.
"""

from __future__ import annotations

import os
from typing import Any, ClassVar

from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

__all__ = ["completion_class"]

_SCRIPT = """\
%(complete_func)s() {
    local IFS=$'\\n' response completion type value
    response=$(env COMP_LINE="${COMP_LINE:0:$COMP_POINT}" COMP_WORDBREAKS="$COMP_WORDBREAKS" \\
        %(complete_var)s=bash_complete "$1")
    COMPREPLY=()
    for completion in $response; do
        IFS=',' read -r type value <<< "$completion"
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain)
                COMPREPLY+=("$value")
                if [[ $value == *[.=/] ]]; then compopt -o nospace; fi
                ;;
        esac
    done
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""


@add_completion_class
class _WholeLists(FishComplete):
    """Offers ``none,basic`` where it would stop at the first comma."""

    source_template: ClassVar[str] = FishComplete.source_template.replace(
        'string split ","', 'string split --max 1 ","'
    )


@add_completion_class
class _WholeWords(BashComplete):
    """Completes words as they were typed, and answers with the part of them that bash is about to replace."""

    source_template: ClassVar[str] = _SCRIPT

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the one that is being typed, and this one; see click."""
        line = os.environ["COMP_LINE"]
        _, *words = split_arg_string(line)
        word = "" if not words or line[-1].isspace() else words.pop()
        typed = word.partition("=")[2] if word.startswith("-") else word
        breaks = set(":=") & set(os.environ.get("COMP_WORDBREAKS", ":="))
        self._kept = typed[: 1 + max((typed.rfind(break_) for break_ in breaks), default=-1)]
        return words, word

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """Return the kind of an item and what replaces the last part of the word; see click."""
        return f"{item.type},{item.value.removeprefix(self._kept)}"


def completion_class(shell: str) -> type[ShellComplete]:
    """Return what speaks with a shell: ``bash``, ``zsh`` or ``fish``."""
    found = get_completion_class(shell)
    assert found is not None
    return found
