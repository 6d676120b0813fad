"""Tables summarised from launches, without burn-in."""

from launches import group, launch, measured

from irbench.spec import Timing
from irbench.stats.eligibility import Admission
from irbench.stats.summary import summarise

TIMING = Timing(burn_in_blocks=0)
EVERYONE = Admission()


def table(asked, records, admission=EVERYONE, timing=TIMING, stopped_by="target", seconds=60.0, remarks=()):
    return summarise(asked, records, timing, admission, stopped_by=stopped_by, seconds=seconds, remarks=remarks)


def rows(result):
    return {row.id: row for row in result.cells}


def alone(rounds, batch=1, streams=1, **changes):
    asked = group("only", streams={"only": streams}, batch=batch)
    return rows(table(asked, [launch(0, [measured("only", rounds, streams=streams, **changes)])]))["only"]
