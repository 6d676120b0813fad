"""The warnings of a table by their codes."""

import json
from dataclasses import replace

import msgspec
from launches import block, even

from irbench.spec import Timing
from irbench.stats.eligibility import Admission
from irbench.stats.summary import summarise

STEADY = [10.0] * 6
TIMING = Timing(burn_in_blocks=0)


def warnings(asked, records, stopped_by="target", seconds=60.0, timing=TIMING):
    """Return the facts of each warning by its code."""
    result = summarise(asked, records, timing, Admission(), stopped_by=stopped_by, seconds=seconds)
    assert len({warning.code for warning in result.warnings}) == len(result.warnings)
    return {warning.code: json.loads(msgspec.json.encode(warning.facts)) for warning in result.warnings}


def pair(cell=STEADY, **blocks_changes):
    records = even({"base": [10.0] * len(cell), "cell": cell}, blocks=8)
    return [replace(record, blocks=tuple(block(number, **blocks_changes) for number in range(8))) for record in records]
