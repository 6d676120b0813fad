"""Text from other sources in Markdown: it is shown, and never becomes a link, an image, HTML or another paragraph.

GitHub makes links of more than Markdown has: addresses, names of users, who are then notified, and numbers of issues.
Of these only the digest of a commit in the same repository stays one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from irbench.core.plain_text import plain, plain_lines

_ACTIVE = re.compile(
    r"[\\`*|<~]"
    r"|(?<!\w)_|_(?!\w)"  # within words it is none of Markdown's
    r"|\](?=[(\[:])"  # of a link or image, or of the definition of one; an interval is none of these
    r"|&(?=#?\w+;)"
    r"|(?<=:)/(?=/)|(?<=(?i:www))\."
)
_REFERENCE = re.compile(r"(?<!\w)@(?=\w)|@(?=[\w\\-]+\.)|#(?=\d)|(?i:\bGH-)(?=\d)")
"""What GitHub looks for in the text that Markdown shows, without its escapes: a user, an address of mail, an issue."""
_INVISIBLE = "&#8203;"
"""A blank without width."""
_OPENING = re.compile(r"(?P<number>\d*)(?=[#>]|[-+=](?:\s|$|[-=])|(?<=\d)[.)]\s)")
"""What makes a line a heading, a list or a rule where it begins like this."""


def markdown_cell(text: str) -> str:
    """Return text that Markdown shows as it is where it does not begin a line."""
    return _REFERENCE.sub(rf"\g<0>{_INVISIBLE}", _ACTIVE.sub(r"\\\g<0>", plain(text)))


def markdown_text(text: str) -> str:
    """Return text that Markdown shows as it is, as a paragraph of its own."""
    escaped = markdown_cell(text).lstrip()
    opening = _OPENING.match(escaped)
    return escaped if opening is None else f"{opening['number']}\\{escaped[opening.end() :]}"


def heading(text: str, level: int) -> str:
    """Return text as a heading."""
    return f"{'#' * level} {markdown_cell(text)}"


def bullets(lines: Iterable[str]) -> str:
    """Return lines of text as a list."""
    return "\n".join(f"- {markdown_text(line)}" for line in lines)


def code_block(code: str, language: str) -> str:
    """Return code between fences that are longer than any within it."""
    longest = max(map(len, re.findall(r"`+", code)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{plain_lines(code)}\n{fence}"
