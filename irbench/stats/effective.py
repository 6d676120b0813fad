"""Settings reported by a runtime, compared over launches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from irbench.record import LaunchRecord
from irbench.spec import Scalar


def changing(records: Sequence[LaunchRecord], cell: str) -> Mapping[str, tuple[Scalar, ...]]:
    """Return the properties of a cell that are not the same in all of its launches, each with its different values.

    Values stand in the order in which they were first seen; one that a launch did not read back is ``None``.
    """
    read_back = [row.effective for record in records for row in record.cells if row.cell == cell]
    names = dict.fromkeys(name for effective in read_back for name in effective)
    seen = {name: tuple(dict.fromkeys(effective.get(name) for effective in read_back)) for name in names}
    return {name: values for name, values in seen.items() if len(values) > 1}
