"""Whether the shipped estimators keep their promises under noise whose truth is known, and what the design saves.

    python tests/simulate.py --runs 4000      # each regime: irbench beside two usual methods; dependent launches
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

import click
from simulation import busy_machine, gates, served_streams, soaks, tables, two_runs, warm_ups

_DRAWS = 200_000


@click.command()
@click.option(
    "--runs", type=click.IntRange(min=1), help="Of each kind.  [default: 4000; 2000, 200000, 1000 and 400 below]"
)
@click.option("--any-time", is_flag=True, help="Misses at any look, for launches that scatter in many ways.")
@click.option("--mutations", is_flag=True, help="Broken estimators, and where the criterion rejects them.")
@click.option("--designs", is_flag=True, help="What each part of the protocol saves, in seconds.")
@click.option("--soaks", "soaked", is_flag=True, help="Verdicts on the memory of a process whose leak is known.")
@click.option("--warm-ups", "warmed", is_flag=True, help="Ends of warm-ups, and streams that starve.")
@click.option("--two-runs", "compared", is_flag=True, help="Alarms of two stored runs, and of a history.")
@click.option("--gates", "gated", is_flag=True, help="Gates that fail and pass, by the real slowdown.")
@click.option("--busy", is_flag=True, help="Claims on a busy machine, and other ways to make them.")
def main(
    runs: int | None,
    *,
    any_time: bool,
    mutations: bool,
    designs: bool,
    soaked: bool,
    warmed: bool,
    compared: bool,
    gated: bool,
    busy: bool,
) -> None:
    """Print how estimators keep the promise of their intervals under noise whose truth is known."""
    if any_time:
        click.echo(tables.any_time(runs or _DRAWS))
    if mutations:
        click.echo(tables.mutations(runs or 2000))
    if designs:
        click.echo(tables.designs(runs or 400))
    if soaked:
        click.echo(soaks.as_table(runs or 2000))
    if warmed:
        click.echo(f"{warm_ups.as_table(runs or 2000)}\n\n{served_streams.as_table((runs or 2000) // 10)}")
    if compared:
        click.echo(two_runs.as_table(runs or 4000))
    if gated:
        click.echo(gates.as_table(runs or 400))
    if busy:
        click.echo(f"{busy_machine.as_table(runs or 1000)}\n\n{busy_machine.mutations_table(runs or 1000)}")
    if not (any_time or mutations or designs or soaked or warmed or compared or gated or busy):
        click.echo(f"{tables.regimes(runs or 4000)}\n\n{tables.dependence(runs or 4000)}")


if __name__ == "__main__":
    main()
