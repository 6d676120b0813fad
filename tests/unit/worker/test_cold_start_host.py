"""What workers of cold starts and soaks see of themselves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

from irbench.measure.kernel_evidence import resident_bytes
from irbench.worker import cold_start_host

MEGABYTES_50 = 50_000_000


def test_a_process_knows_the_files_that_it_mapped_and_imported():
    found = {*cold_start_host.mapped_files(), *cold_start_host.module_files()}
    assert np.__file__ in found
    assert any("libc" in path for path in found)
    assert all(Path(path).is_absolute() for path in found)


def test_resident_memory_rises_by_what_is_written_to():
    # in a process of its own: one that ran many tests may hand back memory at any time
    code = (
        "import numpy; from irbench.measure.kernel_evidence import resident_bytes\n"
        f"before = resident_bytes(); held = numpy.ones({MEGABYTES_50}, numpy.uint8); print(before, resident_bytes())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before, after = map(int, done.stdout.split())
    assert 0.9 * MEGABYTES_50 < after - before < 1.5 * MEGABYTES_50


def test_where_the_kernel_tells_nothing_memory_is_unknown(tmp_path: Path):
    assert resident_bytes(tmp_path) is None


def test_a_worker_imports_numpy_before_the_rest_of_irbench_so_that_its_import_is_timed():
    code = "import sys, irbench.worker; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before, _, _ = done.stdout.partition(" numpy ")
    own = {name for name in before.split() if name.startswith("irbench")}
    assert own == {"irbench", "irbench.measure", "irbench.measure.clock"}
