"""Whether the shipped estimators keep their promises under noise whose truth is known, and what the design saves.

    python tests/simulate.py --runs 4000      # each regime: irbench beside two usual methods; dependent launches
    python tests/simulate.py --side-by-side   # two cells at the same time, instead of by turns
    python tests/simulate.py --any-time       # how often any interval of a run misses, wherever the run stops
    python tests/simulate.py --mutations      # which broken estimators the criterion rejects, and where
    python tests/simulate.py --designs        # seconds until the fastest of four cells is named
    python tests/simulate.py --soaks          # how often memory is said to grow, and to be steady
    python tests/simulate.py --warm-ups       # when calls are said to get no faster, and streams to starve
    python tests/simulate.py --two-runs       # how often two stored runs of one setting are called different
    python tests/simulate.py --busy           # what is claimed beside other programs, and how often that is true

Each prints Markdown. The model of the noise is in ``simulation/regimes.py``, that of other programs in
``simulation/neighbours.py``, and the criterion in ``simulation/criterion.py``; ``docs/protocol.md`` holds the tables,
``docs/cold-starts-and-memory.md`` that of soaks, and ``docs/comparing-runs.md`` those of two runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import click
from simulation import busy_machine, gates, served_streams, soaks, tables, two_runs, warm_ups

_TABLES: Mapping[str, Callable[[int | None], str]] = {
    "any_time": lambda runs: tables.any_time(runs or 200_000),
    "side_by_side": lambda runs: tables.side_by_side(runs or 2000),
    "mutations": lambda runs: tables.mutations(runs or 2000),
    "designs": lambda runs: tables.designs(runs or 400),
    "soaked": lambda runs: soaks.as_table(runs or 2000),
    "warmed": lambda runs: f"{warm_ups.as_table(runs or 2000)}\n\n{served_streams.as_table((runs or 2000) // 10)}",
    "compared": lambda runs: two_runs.as_table(runs or 4000),
    "gated": lambda runs: gates.as_table(runs or 400),
    "busy": lambda runs: f"{busy_machine.as_table(runs or 1000)}\n\n{busy_machine.mutations_table(runs or 1000)}",
}
"""What each option prints."""


@click.command()
@click.option(
    "--runs", type=click.IntRange(min=1), help="Of each kind.  [default: 4000; 2000, 200000, 1000 and 400 below]"
)
@click.option("--any-time", is_flag=True, help="Misses at any look, for launches that scatter in many ways.")
@click.option("--side-by-side", is_flag=True, help="Two cells at the same time, instead of by turns.")
@click.option("--mutations", is_flag=True, help="Broken estimators, and where the criterion rejects them.")
@click.option("--designs", is_flag=True, help="What each part of the protocol saves, in seconds.")
@click.option("--soaks", "soaked", is_flag=True, help="Verdicts on the memory of a process whose leak is known.")
@click.option("--warm-ups", "warmed", is_flag=True, help="Ends of warm-ups, and streams that starve.")
@click.option("--two-runs", "compared", is_flag=True, help="Alarms of two stored runs, and of a history.")
@click.option("--gates", "gated", is_flag=True, help="Gates that fail and pass, by the real slowdown.")
@click.option("--busy", is_flag=True, help="Claims on a busy machine, and other ways to make them.")
def main(runs: int | None, **asked: bool) -> None:
    """Print how estimators keep the promise of their intervals under noise whose truth is known."""
    for name in (name for name in _TABLES if asked[name]):
        click.echo(_TABLES[name](runs))
    if not any(asked.values()):
        click.echo(f"{tables.regimes(runs or 4000)}\n\n{tables.dependence(runs or 4000)}")


if __name__ == "__main__":
    main()
