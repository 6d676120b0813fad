"""Drawing charts: static SVG for pages, and files for documents."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from irbench.core.plain_text import plain
from irbench.options.values import ChartForm
from irbench.system.installation import require_libraries

_LIBRARIES = {"altair": "altair", "vl_convert": "vl-convert-python"}
SEPARATOR = "\x1f"
"""Between the key of a row and what a mark says, in the description of a mark."""
_LABEL = re.compile(r'aria-label="([^"]*?)(?:\x1f|&#x1[fF];|&#31;)([^"]*)"')
_COLOURS = {"currentColor": "#1b1f24", "transparent": "white"}
"""Of charts outside of a page, by those of charts that follow the colours of theirs."""


def can_draw() -> bool:
    """Whether the libraries that draw charts are installed."""
    return all(find_spec(module) is not None for module in _LIBRARIES)


def require_drawing() -> None:
    """Refuse where the libraries that draw charts are missing.

    Raises:
        IrbenchError: One of them is not installed.
    """
    message = f"Charts need {' and '.join(_LIBRARIES.values())}, which are not installed."
    require_libraries(_LIBRARIES, message, "report")


def page_svg(spec: dict[str, Any], prefix: str, rows: str = "") -> str:
    """Return a chart as SVG for a page: its identifiers begin with ``prefix``, marks have the key of their row.

    Marks and axes keep the labels that screen readers read.

    Args:
        spec: Of Vega-Lite.
        prefix: Unique in the page.
        rows: What the keys of rows begin with in the page.
    """
    svg = _convert("svg", _with_texts(_plain, spec)).decode()
    svg = re.sub(r'\b(id="|url\(#|href="#)', lambda match: f"{match[1]}{prefix}-", svg)
    return _LABEL.sub(lambda match: _marked(match, rows), svg)


def drawn(spec: dict[str, Any], form: ChartForm) -> bytes:
    """Return a chart as a file: its Vega-Lite specification, SVG, PNG with two pixels a unit, or PDF.

    Raises:
        IrbenchError: The libraries that draw are not installed.
    """
    require_drawing()
    standing = _with_texts(_standing, spec)
    return json.dumps(standing, indent=2).encode() if form == "vega" else _convert(form, standing)


def _convert(form: ChartForm, spec: dict[str, Any]) -> bytes:
    import vl_convert

    if form == "svg":
        return str(vl_convert.vegalite_to_svg(spec)).encode()
    if form == "png":
        return bytes(vl_convert.vegalite_to_png(spec, scale=2))
    return bytes(vl_convert.vegalite_to_pdf(spec))


def _marked(match: re.Match[str], rows: str) -> str:
    key, text = match.groups()
    return f'data-row="{html.escape(rows)}{key}" aria-label="{text}"'


def _with_texts(change: Callable[[str], str], value: Any) -> Any:
    """Return a specification with each of its texts changed."""
    if isinstance(value, dict):
        return {key: _with_texts(change, part) for key, part in value.items()}
    if isinstance(value, list):
        return [_with_texts(change, part) for part in value]
    return change(value) if isinstance(value, str) else value


def _plain(text: str) -> str:
    """Return a text that the library which draws can lay out: others end the whole process."""
    return SEPARATOR.join(map(plain, text.split(SEPARATOR, 1)))


def _standing(text: str) -> str:
    """Return a text of a chart outside of a page: in colours of its own, and descriptions without the keys of rows."""
    key, separator, said = text.partition(SEPARATOR)
    return _COLOURS.get(text) or plain(said if separator else key)
