"""MLPerf's LoadGen in front of one queue whose calls take a known time; prints what it measured as JSON.

Runs in the environment of ``requirements-loadgen.lock``, and imports nothing of irbench.
"""

from __future__ import annotations

import argparse
import json
import queue
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import mlperf_loadgen as loadgen

_SPIN_S = 0.0004
"""A call sleeps until so long before its end, because the kernel wakes sleepers late."""


class KnownQueue:
    """Answers queries one by one, in the order in which they come."""

    def __init__(self, service_s: float, stall_s: float, stall_every: int) -> None:
        self._service_s, self._stall_s, self._stall_every = service_s, stall_s, stall_every
        self._waiting: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self.came_s: list[float] = []
        self.took_s: list[float] = []
        self._thread = threading.Thread(target=self._answer)
        self._thread.start()

    def issue(self, samples: list[Any]) -> None:
        """Queue the samples of a query; called by LoadGen."""
        for sample in samples:
            self.came_s.append(time.perf_counter())
            self._waiting.put(sample.id)

    def end(self) -> None:
        """Answer what waits, and end."""
        self._waiting.put(None)
        self._thread.join()

    def _answer(self) -> None:
        while (sample := self._waiting.get()) is not None:
            began_s = time.perf_counter()
            stalls = (len(self.took_s) + 1) % self._stall_every == 0
            _wait_until(began_s + self._service_s + stalls * self._stall_s)
            self.took_s.append(time.perf_counter() - began_s)
            loadgen.QuerySamplesComplete([loadgen.QuerySampleResponse(sample, 0, 0)])


def _wait_until(moment_s: float) -> None:
    spare_s = moment_s - _SPIN_S - time.perf_counter()
    if spare_s > 0:
        time.sleep(spare_s)
    while time.perf_counter() < moment_s:
        time.sleep(0)  # lets go of the interpreter's lock, so that queries are issued meanwhile


def main() -> None:
    """Measure one load, and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenario", choices=("Server", "SingleStream"), required=True)
    parser.add_argument("--rate", type=float, default=1.0)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--service-ms", type=float, required=True)
    parser.add_argument("--stall-ms", type=float, default=0.0)
    parser.add_argument("--stall-every", type=int, default=1)
    asked = parser.parse_args()
    sut = KnownQueue(asked.service_ms / 1e3, asked.stall_ms / 1e3, asked.stall_every)
    with tempfile.TemporaryDirectory() as folder:
        _measure(sut, _settings(asked), folder)
        found = _results(Path(folder) / "mlperf_log_detail.txt")
    json.dump(
        {
            "mean_ms": found["result_mean_latency_ns"] / 1e6,
            "p99_ms": found["result_99.00_percentile_latency_ns"] / 1e6,
            "came_s": sut.came_s,
            "took_s": sut.took_s,
        },
        sys.stdout,
    )


def _settings(asked: argparse.Namespace) -> Any:
    settings = loadgen.TestSettings()
    settings.scenario = getattr(loadgen.TestScenario, asked.scenario)
    settings.mode = loadgen.TestMode.PerformanceOnly
    settings.server_target_qps = asked.rate
    settings.server_target_latency_ns = 10**9
    settings.single_stream_expected_latency_ns = round(asked.service_ms * 1e6)
    settings.min_duration_ms = round(asked.seconds * 1e3)
    settings.max_duration_ms = 0
    settings.min_query_count = 1
    return settings


def _measure(sut: KnownQueue, settings: Any, folder: str) -> None:
    output = loadgen.LogOutputSettings()
    output.outdir = folder
    logs = loadgen.LogSettings()
    logs.log_output = output
    logs.enable_trace = False
    system = loadgen.ConstructSUT(sut.issue, lambda: None)
    library = loadgen.ConstructQSL(1, 1, lambda _: None, lambda _: None)
    try:
        loadgen.StartTestWithLogSettings(system, library, settings, logs)
    finally:
        sut.end()
        loadgen.DestroyQSL(library)
        loadgen.DestroySUT(system)


def _results(log: Path) -> dict[str, float]:
    """Return the results by their names: a line of the log is one, as JSON behind a mark."""
    lines = (line.partition(":::MLLOG ")[2] for line in log.read_text(encoding="utf-8").splitlines())
    entries = [json.loads(line) for line in lines if line]
    return {entry["key"]: entry["value"] for entry in entries if str(entry["key"]).startswith("result_")}


if __name__ == "__main__":
    main()
