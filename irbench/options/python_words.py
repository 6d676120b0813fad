"""Sentences that name options as the command line does, with the keywords that Python has for them.

What is to be done is said in one place for everybody, with the flags that are declared. Where Python shows it, each
flag and the value behind it become what is typed there: ``--shape seq=128`` is ``shape={"seq": 128}``. What stands
between backticks is an option with its values and nothing else. Elsewhere a word behind a flag may be its value or a
word of the sentence: where that is not certain for each flag of a text, all of it stays as it is.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from irbench.core.plain_text import MARKED_OPTION
from irbench.errors import IrbenchError
from irbench.options.kinds import Kind
from irbench.options.option import Option, flag_of

_PIECES = re.compile(r"(\s+)")
_TOKEN = re.compile(r"""([("'`]*)(--?[a-z][a-z-]*)([^\s\w-]*)""")
_VALUE = re.compile(r"""(.*?)([,.;:)]*)""", re.DOTALL)
_COMMANDS = {"irbench", "docker", "podman", "kubectl", "python", "pip", "uv", "gunzip", "toplev", "paddle2onnx"}
"""What follows them is typed in a shell, and stays as it is."""
_WORDS = {"native", "none"}
"""Values beside those that have a digit or a sign in them, and those in capitals, which stand for others."""


class _Uncertain(Exception):
    """A word may be a value or not, or a flag stands where none is expected."""


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
    try:
        marked = MARKED_OPTION.split(text)  # what is between backticks is at each odd place
        return "".join(
            _of_mark(part, flags, options) if place % 2 else _of_sentence(part, flags, options)
            for place, part in enumerate(marked)
        )
    except _Uncertain:
        return text


def _of_sentence(text: str, flags: Mapping[str, str], options: Mapping[str, Option]) -> str:
    return "".join(_Translation(_PIECES.split(text), flags, options).pieces())


def _of_mark(text: str, flags: Mapping[str, str], options: Mapping[str, Option]) -> str:
    """Return an option and all of its values as Python has them."""
    flag, *words = shlex.split(text)
    if flag not in flags:
        return f"`{text}`"
    keyword, kind = flags[flag], options[flags[flag]].kind
    if kind.is_flag:
        return f"{keyword}=True"
    values = [word for word in words if word != flag]
    if values and not _can_be(values, kind):
        raise _Uncertain
    return f"{keyword}={_held(values, kind)}" if values else f"`{keyword}`"


def _can_be(values: Sequence[str], kind: Kind[Any]) -> bool:
    """Whether the command line takes these values of one option."""
    if len(values) > 1 and kind.entry is None:
        return False
    return all(_reads(kind.entry or kind.read, value) or value.isupper() for value in values)


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
                if not is_command and self._has_flag(word):
                    raise _Uncertain
                yield word
                place += 1
                continue
            text, place = self._keyword(match, place)
            yield text

    def _has_flag(self, word: str) -> bool:
        return any(flag in self.flags for flag in re.findall(r"(?<![\w-])--[a-z][a-z-]*", word))

    def _is_command(self, place: int) -> bool:
        """Whether a command begins here: its name, and a word that is not a verb of a sentence."""
        word = self.words[place].lstrip("(\"'`")
        return (
            word in _COMMANDS and place + 2 < len(self.words) and re.match(r"[a-z-]", self.words[place + 2]) is not None
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
            if self._has_flag(value):
                raise _Uncertain
            if not _is_value(value, kind):
                break
            values.append(value)
            closing, place = end, place + 2
            if closing or self.words[place + 2 : place + 3] != [flag]:
                break
            place += 2
        if len(values) > 1 and kind.entry is None:
            raise _Uncertain
        if not values:
            return f"{opening}`{keyword}`{closing}", place + 1
        return f"{opening}{keyword}={_held(values, kind)}{closing}", place + 1


def _value(word: str) -> tuple[str, str]:
    """Return a word without the quotes of a shell, and the punctuation behind it."""
    match = _VALUE.fullmatch(word)
    assert match is not None
    return match[1].strip("'\""), match[2]


def _is_value(word: str, kind: Kind[Any]) -> bool:
    """Whether a word behind a flag is its value.

    Raises:
        _Uncertain: It may be one, or a word of the sentence.
    """
    if not _reads(kind.entry or kind.read, word):
        if "=" in word or word.isupper():  # it stands for a value
            raise _Uncertain
        return False
    if word in _WORDS or word in kind.words or word.isupper() or re.search(r"[\d=/.:,]", word) is not None:
        return True
    raise _Uncertain


def _reads(read: Callable[[str], Any], word: str) -> bool:
    try:
        read(word)
    except (TypeError, ValueError, IrbenchError):
        return False
    return True


def _held(values: list[str], kind: Kind[Any]) -> str:
    if kind.entry is None or kind.collect is None:
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
