"""One row of a run as Python has it.

Written by ``make generated`` from the declarations in :mod:`irbench.render.columns`; change those.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class RunRow:
    """One row: a model on a backend under one load. ``None`` is what was not measured.

    Latencies are in milliseconds for one batch; p50, p90, fps and the speedup are those of the table. Attributes are
    columns of :meth:`Run.to_pandas` and of every export, which have more (docs/exports.md).

    Attributes:
        run_id: The run's ULID.
        run_name: Name given to the run; empty without one.
        run_note: Note given to the run; empty without one.
        table: Number of the table in its run, counted from 0.
        model: The model.
        batch: Samples per inference.
        shapes: Shapes of the inputs.
        condition: busy where all that the table says is of the machine as loaded as it was; ``None`` elsewhere.
        blocks_measured: Blocks of the table, in all launches.
        blocks_disturbed: How many of them something outside disturbed; ``None`` in older documents.
        no_winner: Why no row is the fastest, for example undecided or busy; ``None`` where one is, or none is compared.
        label: What the table calls the row; unique in its table.
        precision: What the runtime computed in, or was asked to where it did not run.
        threads: Threads of each process as the runtime reports them, or as requested where it reports none.
        is_baseline: Whether speedups are relative to this row.
        is_winner: Whether it is the fastest, under the condition of its table.
        backend: The backend.
        device: The backend's device.
        threads_requested: Threads of each process that were requested; ``None`` for native.
        streams: Inferences that each process keeps in flight.
        instances: Processes that run the model side by side.
        state: ok, mismatch, failed, not-applicable, interrupted or not-measured.
        failure: Why there are no figures.
        hint: What to do about that.
        p50_ms: Median latency of one batch.
        p90_ms: 90th percentile of latency.
        p99_ms: 99th percentile, with ``tail``.
        p99_9_ms: 99.9th percentile, with ``tail``.
        mean_ms: Mean latency.
        fps: Samples per second.
        sustained_fps: Samples per second where the row runs alone, with ``sustain``.
        paced_p50_ms: Median latency at the pace, from issue to completion.
        paced_p90_ms: 90th percentile of that.
        launches: Launches that measured the row.
        launch_spread: Half the range of launch medians, as a fraction of their median.
        prompt_tokens_per_s: Prompt tokens of a batch per second of the time to the first token, of one stream; ``None``
            with an encoder.
        first_token_ms: Time to the first token: reading the prompt.
        token_ms: Time from one token to the next, the median over all of a call.
        tokens_per_s: Tokens per second, of all samples and streams together.
        speedup: How many times as fast as the baseline.
        speedup_low: Lower end of its confidence interval; ``None`` without one.
        speedup_high: Upper end of its confidence interval.
        verdict: faster, slower, same, undecided or preview.
        max_rel_error: Largest difference from the reference, relative to the largest reference value.
        beside: What ran at the same time; ``None`` for nothing.
        beside_intensity_percent: Its intensity, in percent of the time.
        slowdown: How many times the time is that of the row alone, in pairs within a block.
        slowdown_low: Lower end of its confidence interval.
        slowdown_high: Upper end of its confidence interval.
        p90_slowdown: How many times the p90 latency is that of the row alone.
        neighbour_processors: Processors that the neighbour used.
        neighbour_gb_per_s: 10^9 bytes per second that the neighbour read and wrote.
        neighbour_calls_per_s: Calls per second of a model that ran beside the row.
        neighbour_p50_ms: Median latency of these calls.
        neighbour_achieved_share: Which share the neighbour did of the processors or calls per second that were asked of
            it, as a fraction.
        neighbour_slowdown: How much slower the neighbour was than while the row stood still.
        compile_ms: Compilation.
        ready_ms: Process start to first output; of a cold start the median over launches.
        stages: Stages of your own code, in order: each with its name, its time of a call (`ms`) and its share of all.
        step_parts: A training step and its parts: each with its name and its time (`ms`). `whole`, `input` and
            `compute` are means of all steps; `host`, `forward`, `backward` and `optimizer` are of steps on a batch in
            memory; `beside` is by how much compute takes longer while the input pipeline works.
        loss: How the loss went before training steps were timed: of each step, the means of the `first` and the `last`
            quarter, and what that was compared with.
        environment: What the table calls the Python whose runtime was measured; ``None`` for the one that irbench ran
            in.
        energy_per_inference_j: Energy of one inference of one batch while the row runs alone, with ``energy``.
        power_w: Mean power while the row runs alone.
        gflop_per_s: 10^9 operations per second.
        roof_share: Share of what the machine attains at most for the model.
        peak_memory_bytes: Resident peak of the process.
        gpu_memory_bytes: Peak of the GPU's memory that the row takes, by NVML; ``None`` on other devices.
    """

    run_id: str
    run_name: str
    run_note: str
    table: int
    model: str
    batch: int
    shapes: str
    condition: str | None
    blocks_measured: int
    blocks_disturbed: int | None
    no_winner: str | None
    label: str
    precision: str
    threads: int | None
    is_baseline: bool
    is_winner: bool
    backend: str
    device: str
    threads_requested: int | None
    streams: int
    instances: int
    state: str
    failure: str | None
    hint: str | None
    p50_ms: float | None
    p90_ms: float | None
    p99_ms: float | None
    p99_9_ms: float | None
    mean_ms: float | None
    fps: float | None
    sustained_fps: float | None
    paced_p50_ms: float | None
    paced_p90_ms: float | None
    launches: int | None
    launch_spread: float | None
    prompt_tokens_per_s: float | None
    first_token_ms: float | None
    token_ms: float | None
    tokens_per_s: float | None
    speedup: float | None
    speedup_low: float | None
    speedup_high: float | None
    verdict: str | None
    max_rel_error: float | None
    beside: str | None
    beside_intensity_percent: int | None
    slowdown: float | None
    slowdown_low: float | None
    slowdown_high: float | None
    p90_slowdown: float | None
    neighbour_processors: float | None
    neighbour_gb_per_s: float | None
    neighbour_calls_per_s: float | None
    neighbour_p50_ms: float | None
    neighbour_achieved_share: float | None
    neighbour_slowdown: float | None
    compile_ms: float | None
    ready_ms: float | None
    stages: Any | None
    step_parts: Any | None
    loss: Any | None
    environment: str | None
    energy_per_inference_j: float | None
    power_w: float | None
    gflop_per_s: float | None
    roof_share: float | None
    peak_memory_bytes: int | None
    gpu_memory_bytes: int | None
