"""The process of a job: ``python -m irbench.features.fleet.on_target.job_process FOLDER PARENT``.

It ends with the worker that started it, whose process id is the second argument.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from irbench.system.signals import die_with_parent


def main() -> None:
    """Measure the job in the folder that the first argument names."""
    die_with_parent()
    if os.getppid() != int(sys.argv[2]):  # it ended before the kernel was told
        return
    from irbench.features.fleet.on_target.measured_job import measure_job  # takes a second, in which nobody would watch

    measure_job(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
