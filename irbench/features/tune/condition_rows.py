"""Two settings under one condition as the rows of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from irbench.core import registry
from irbench.core.address import BackendAddress
from irbench.core.row import cell_names
from irbench.errors import IrbenchError
from irbench.features.tune.flip_map import Pair, Surroundings
from irbench.features.tune.report import Condition, TunedSetting
from irbench.features.tune.settings import setting_of
from irbench.optimizer import UNOPTIMIZED, variant
from irbench.options.run import RunOptions
from irbench.requests import probes
from irbench.requests.run_requests import planned, requested
from irbench.runner.plan import PlannedGroup, with_rows
from irbench.runner.request import RunRequest
from irbench.spec import Cell, Precision
from irbench.system import host

_NATIVE: Literal["native"] = "native"


@dataclass(frozen=True)
class ConditionRows:
    """What is measured under a condition.

    Attributes:
        request: The run.
        planned: Its table: the rival, which is the baseline, and the setting.
        pair: Both, with the ids of their rows and what tables call them.
    """

    request: RunRequest
    planned: PlannedGroup
    pair: Pair


def surroundings(pair: Pair, run: RunOptions, *, has_batches: bool) -> Surroundings:
    """Return what conditions two settings can be measured under.

    Args:
        pair: The recommended setting and a rival.
        run: What was asked of every row of the search.
        has_batches: Whether the model can be run with several batch sizes.
    """
    both = (pair.setting, pair.rival)
    return Surroundings(len(host.allowance(run.cpus).cpus), has_batches, _precisions(both, run.precision))


def condition_rows(
    condition: Condition, pair: Pair, run: RunOptions, scratch: Path, *, has_batches: bool
) -> ConditionRows:
    """Return the table that compares two settings.

    Args:
        condition: What they are measured under.
        pair: They, as they are under it.
        run: What was asked of every row of the search.
        scratch: A folder that is gone after the run.
        has_batches: Whether the model can be run with several batch sizes.

    Raises:
        IrbenchError: There is no such row, or none of them can run.
    """
    both = (pair.setting, pair.rival)
    options = _options(condition, both, run)
    options = options if has_batches else replace(options, batch=run.batch)
    request = replace(requested(options), alternatives=_alternatives(both, options), is_part_of="tune")
    request, groups = planned(request, options, scratch, lambda _line: None)
    if len(groups) != 1:
        raise IrbenchError("The two settings do not fit into one table.", hint="Give one --batch.")
    setting, rival = (_row_of(each, groups[0].group.cells) for each in both)
    kept = with_rows(groups[0], {setting, rival})
    names = cell_names(kept.group)
    return ConditionRows(
        replace(request, rows=(setting, rival)),
        replace(kept, group=replace(kept.group, baseline=rival)),
        Pair(
            replace(pair.setting, row=setting, label=names[setting]),
            replace(pair.rival, row=rival, label=names[rival]),
        ),
    )


def _options(condition: Condition, both: Sequence[TunedSetting], run: RunOptions) -> RunOptions:
    """Return options that ask for both settings, among others: every combination of their values."""
    cpus = host.allowance(run.cpus).cpus
    names = {_name(each) for each in both}
    return replace(
        run,
        backends=tuple(dict.fromkeys(each.backend for each in both)),
        batch=tuple(dict.fromkeys(each.batch for each in both)),
        streams=tuple(dict.fromkeys(each.streams for each in both)),
        instances=tuple(dict.fromkeys(each.instances for each in both)),
        threads=tuple(dict.fromkeys(each.threads or _NATIVE for each in both)),
        optimize=tuple(dict.fromkeys(each.optimize for each in both)),
        precision=(str(condition.value),) if condition.axis == "precision" else run.precision,
        cpus=cpus[: int(condition.value)] if condition.axis == "processors" else run.cpus,
        set={name: options for name, options in run.set.items() if name in names},
        vary={},
    )


def _alternatives(both: Sequence[TunedSetting], run: RunOptions) -> dict[str, tuple[Mapping[str, str], ...]]:
    """Return the options of each backend that are not those of all rows, and none: plans name no single value."""
    found: dict[str, tuple[Mapping[str, str], ...]] = {}
    for each in both:
        shared = run.set.get(_name(each), {})
        own = {key: value for key, value in each.options.items() if shared.get(key) != value}
        known = found.get(_name(each), ({},))
        found[_name(each)] = known if own in known else (*known, own)
    return found


def _row_of(wanted: TunedSetting, cells: Sequence[Cell]) -> str:
    """Return the id of the row that is a setting.

    Raises:
        IrbenchError: There is none.
    """
    for cell in cells:
        row = setting_of(cell, wanted.label)
        if replace(row, row=wanted.row, precision_required=wanted.precision_required) == wanted:
            return cell.id
    raise IrbenchError(f"{wanted.label} cannot be planned under this condition.", hint="Leave --flip-map out.")


def _precisions(both: Sequence[TunedSetting], searched: Sequence[str] | None) -> tuple[Precision, ...]:
    """Return what both can be asked to compute in: what was searched, else what their probes found."""
    if any(each.optimize != UNOPTIMIZED and variant(each.optimize).conversion is not None for each in both):
        return ()  # a graph that was converted runs in its own
    found = [_probed(each) for each in both]
    asked = tuple(searched or ()) if len(searched or ()) > 1 else found[0]
    return tuple(name for name in found[0] if name in asked and all(name in other for other in found))


def _probed(setting: TunedSetting) -> tuple[Precision, ...]:
    address = BackendAddress.parse(setting.backend)
    found = probes.remembered(registry.describe(registry.BACKENDS, address.name))
    names = () if found is None else found.precisions.get(address.device, ())
    return tuple(name for name in get_args(Precision) if name in names and name != "int8")


def _name(setting: TunedSetting) -> str:
    return BackendAddress.parse(setting.backend).name
