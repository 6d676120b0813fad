"""The options of ``irbench doctor``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from irbench.options import kinds
from irbench.options.option import CommandOptions, option
from irbench.options.run import like


@dataclass(frozen=True, kw_only=True)
class DoctorOptions:
    """What is measured of a machine, and how."""

    peak: bool = option(
        kinds.FLAG,
        "Also measure the peak performance of this machine: matrix products per precision, and bandwidth of caches"
        " and memory. This takes at most about eight minutes; the result is kept, unless the machine was busy.",
        default=False,
    )
    backend: str | None = option(
        kinds.BACKEND,
        "Backend for --aa and --peak.",
        metavar="NAME",
        default_text="a reference backend, such as ort; for --peak, each that reads ONNX",
    )
    threads: int | Literal["native"] | None = option(
        kinds.THREADS,
        "For --aa: threads per process in total, or native.",
        default_text="the available physical cores",
    )
    cpus: tuple[int, ...] | None = like("cpus", help="For --aa and --peak: processors to use.")
    budget: float | None = option(kinds.DURATION, "For --aa: time limit.", default_text="90s")
    no_lock: bool = like(
        "no_lock", help="For --aa and --peak: measure even if another irbench is measuring on this machine."
    )
    results: Path | None = like("results")

    @property
    def is_restricted(self) -> bool:
        """Whether peaks are those of a part of the machine or of its software."""
        return self.backend is not None or self.cpus is not None


DOCTOR = CommandOptions("doctor", DoctorOptions)
