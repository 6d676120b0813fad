"""The backend of a row: a plugin, or the user's own code."""

from __future__ import annotations

from collections.abc import Callable

from irbench import registry
from irbench.errors import IrbenchError
from irbench.spec import Cell, Feeding
from irbench.spi import Backend, Feed
from irbench.worker.inputs import takes_turns


def backend_of(cell: Cell, feeding: Feeding, feed: Callable[[], Feed]) -> Backend:
    """Return what runs a cell.

    Args:
        cell: It.
        feeding: Its inputs.
        feed: Returns the first of them, once they are made.

    Raises:
        IrbenchError: There is no such backend, or a command would have to be given inputs that change.
    """
    program = cell.program
    if program is None:
        return registry.backend(cell.backend)
    if program.kind == "callable":
        from irbench.worker.callables import CallableBackend  # workers of other rows start sooner without it

        return CallableBackend(cell.backend, program)
    if takes_turns(feeding) or cell.dynamic:
        raise IrbenchError(
            "A command is given one input of one shape.",
            hint="Give --data one sample and leave --feedback and --shapes out, or give a function: module:function.",
        )
    from irbench.worker.commands import CommandBackend

    return CommandBackend(cell.backend, program, feed)
