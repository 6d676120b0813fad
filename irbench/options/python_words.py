"""Sentences that name options as the command line does, with the keywords that Python has for them.

What is to be done is said in one place for everybody, with the flags that are declared. Where Python shows it, each
flag and the value behind it become what is typed there: ``--shape seq=128`` is ``shape={"seq": 128}``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from irbench.errors import IrbenchError
from irbench.options.option import Option, flag_of

_PIECES = re.compile(r"(\s+)")
_TOKEN = re.compile(r"""([("'`]*)(--?[a-z][a-z-]*)([^\s\w-]*)""")
_VALUE = re.compile(r"""(.*?)([,.;:)]*)""", re.DOTALL)
_COMMANDS = {"irbench", "docker", "podman", "kubectl"}
"""What follows them is typed in a shell, and stays as it is."""
_WORDS = {"native", "none"}
"""Values beside those that have a digit or a sign in them, and those in capitals, which stand for others."""
_LONELY_WORD = "because"
"""A kind that reads it takes any word, so that the word behind a flag need not be its value."""


def with_keywords(text: str, options: Mapping[str, Option]) -> str:
    """Return a text with keywords of Python in place of the flags of these options; commands in it stay.

    Args:
        text: A sentence, or several.
        options: By keyword; flags of others stay as they are.
    """
    if "-" not in text:
        return text
    flags = {flag_of(name, declared): name for name, declared in options.items()}
    flags |= {declared.short: name for name, declared in options.items() if declared.short}
    return "".join(_Translation(_PIECES.split(text), flags, options).pieces())


@dataclass(frozen=True)
class _Translation:
    """Words and the spaces between them, by turns."""

    words: list[str]
    flags: Mapping[str, str]
    options: Mapping[str, Option]

    def pieces(self) -> Iterator[str]:
        place, is_command = 0, False
        while place < len(self.words):
            word = self.words[place]
            is_command = self._is_command(place) or (is_command and not self._ends_command(place))
            match = None if is_command else _TOKEN.fullmatch(word)
            if match is None or match[2] not in self.flags:
                yield word
                place += 1
                continue
            text, place = self._keyword(match, place)
            yield text

    def _is_command(self, place: int) -> bool:
        """Whether a command begins here: its name, and a word that is not a verb of a sentence."""
        word = self.words[place].lstrip("(\"'`")
        return (
            word in _COMMANDS and place + 2 < len(self.words) and re.match(r"[a-z]", self.words[place + 2]) is not None
        )

    def _ends_command(self, place: int) -> bool:
        return place >= 2 and (self.words[place - 2][-1:] in {",", ";", ")"} or self.words[place - 2].endswith("."))

    def _keyword(self, match: re.Match[str], place: int) -> tuple[str, int]:
        """Return an option as Python has it, and the place behind it and its values."""
        opening, flag, closing = match.groups()
        keyword = self.flags[flag]
        kind = self.options[keyword].kind
        if kind.is_flag:
            return f"{opening}{keyword}=True{closing}", place + 1
        values: list[str] = []
        while not closing and place + 2 < len(self.words):
            value, end = _value(self.words[place + 2])
            if not _is_value(value, kind):
                break
            values.append(value)
            closing, place = end, place + 2
            if closing or kind.entry is None or self.words[place + 2 : place + 3] != [flag]:
                break
            place += 2
        if not values:
            return f"{opening}`{keyword}`{closing}", place + 1
        return f"{opening}{keyword}={_held(values, kind)}{closing}", place + 1


def _value(word: str) -> tuple[str, str]:
    """Return a word without the quotes of a shell, and the punctuation behind it."""
    match = _VALUE.fullmatch(word)
    assert match is not None
    return match[1].strip("'\""), match[2]


def _is_value(word: str, kind: Any) -> bool:
    read: Callable[[str], Any] = kind.entry or kind.read
    if not _reads(read, word):
        return False
    is_surely_one = word in _WORDS or word.isupper() or re.search(r"[\d=/.:]", word) is not None
    return is_surely_one or not _reads(read, _LONELY_WORD)


def _reads(read: Callable[[str], Any], word: str) -> bool:
    try:
        read(word)
    except (TypeError, ValueError, IrbenchError):
        return False
    return True


def _held(values: list[str], kind: Any) -> str:
    if kind.entry is None:
        parts = values[0].split(",")
        return _literal(parts)
    return _literal(kind.written(kind.collect("", map(kind.entry, values))))


def _literal(value: Any) -> str:
    """Return a value as Python writes it: one of several alone, numbers as numbers."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_text(name)}: {_literal(item)}' for name, item in value.items())}}}"
    if isinstance(value, list | tuple):
        return _literal(value[0]) if len(value) == 1 else f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, str):
        return value if re.fullmatch(r"-?\d+(\.\d+)?", value) else _text(value)
    return repr(value)


def _text(value: object) -> str:
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
