"""Which arguments and options of a command were given."""

from __future__ import annotations

from collections.abc import Collection

import click
from click.core import ParameterSource


def given_parameters(context: click.Context, beside: Collection[str]) -> list[str]:
    """Return what was given on the command line, options by their names; those of ``beside`` left out."""
    given = (param for param in context.command.params if param.name not in beside and _is_given(context, param))
    return [param.opts[0] if isinstance(param, click.Option) else "a model" for param in given]


def _is_given(context: click.Context, param: click.Parameter) -> bool:
    is_named = context.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
    return is_named and context.params.get(param.name or "") not in ((), None)
