"""Option types that several commands share; each refuses invalid values with an example."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import click
from click.shell_completion import CompletionItem
from click.types import OptionHelpExtra

from irbench.options import values

T = TypeVar("T")
Offer = Callable[[str], list[CompletionItem]]


def _nothing(_incomplete: str) -> list[CompletionItem]:
    return []


class PlainDefault(click.Option):
    """An option whose help tells its default in words, as they are; click would put them into brackets once more."""

    def get_help_extra(self, ctx: click.Context) -> OptionHelpExtra:  # noqa: ARG002 - click's signature
        """Return what follows the help; see click."""
        return {"default": str(self.show_default)}


class Parsed(click.ParamType[T], Generic[T]):
    """An option whose text a function reads.

    Args:
        form: An example; the help shows it, and a refusal says to write it like that.
        read: Returns the value; raises ``ValueError``, with what is wrong, for any other text.
        offer: Returns what a text that is being typed may become, for a shell to complete.
    """

    def __init__(self, form: str, read: Callable[[str], T], offer: Offer = _nothing) -> None:
        self.name = form
        self._read = read
        self._offer = offer

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:  # noqa: ARG002 - click's signature
        """Return the example as it is; click would make capitals of it."""
        return self.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value of what was typed; a default that is a value already stays as it is."""
        if not isinstance(value, str):
            return value
        try:
            return self._read(value.strip())
        except ValueError as error:
            self.fail(f"{error}; write it like {self.name.replace('|', ' or ')}", param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's signature
        """Return what the text may become."""
        return self._offer(incomplete)


COUNT = Parsed("20", values.count)
