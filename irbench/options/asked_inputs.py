"""What a user asks of the inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from irbench.errors import IrbenchError
from irbench.spec import Number
from irbench.spi import Array
from irbench.system.file_states import exists

DataSource: TypeAlias = Path | tuple[Mapping[str, Array], ...]
"""Files, or arrays in memory: one mapping from input names for each sample."""


@dataclass(frozen=True)
class AskedInputs:
    """What a user wants the inputs to be.

    Attributes:
        data: Samples; ``None`` without.
        values: Constants by input name.
        feedback: Outputs by the names of the inputs that they become in the next call.
    """

    data: DataSource | None = None
    values: Mapping[str, tuple[Number, ...]] = field(default_factory=dict[str, tuple[Number, ...]])
    feedback: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def source(self) -> str:
        """What the user called the data; empty for arrays in memory and without data."""
        return str(self.data) if isinstance(self.data, Path) else ""

    def require_data(self) -> None:
        """Refuse data that are not there, before models are exported for them.

        Raises:
            IrbenchError: There is no such file or folder.
        """
        if isinstance(self.data, Path) and not exists(self.data):
            raise IrbenchError(f"There is no file or folder {self.data}.", hint="Check the path given with --data.")

    def as_plan(self) -> dict[str, object]:
        """Return what was asked for as the run document records it."""
        in_memory = len(self.data) if isinstance(self.data, tuple) else None
        return {
            "data": self.source or None,
            "data_in_memory": in_memory,
            "values": {name: list(values) for name, values in self.values.items()},
            "feedback": dict(self.feedback),
        }
