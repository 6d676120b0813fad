"""One worker that serves every call of a fuzzer: a fresh one for each would take most of the time."""

from __future__ import annotations

import contextlib
import resource
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self
from unittest.mock import patch

from irbench.worker.failures import CallFailed
from irbench.worker.process import Worker

_MEMORY_BYTES = 3 << 30
_DEADLINE_S = 12.0
"""Below that of a call, so that a worker that hangs is reported by irbench itself."""


class _Lender:
    """Starts a worker when one is needed, and another where the last one died."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "log"
        self._worker: Worker | None = None

    def worker(self) -> Worker:
        """Return a living worker."""
        if self._worker is None:
            self._worker = Worker(self._log)
            limits = (_MEMORY_BYTES, _MEMORY_BYTES)
            self._worker.ask("resource:setrlimit", resource.RLIMIT_DATA, limits, deadline_s=60)
        return self._worker

    def drop(self) -> None:
        """End the worker, if there is one."""
        if self._worker is not None:
            self._worker.kill()
        self._worker = None


@contextlib.contextmanager
def lent_worker() -> Iterator[None]:
    """Let every worker of the body's that is started for one call be the same one, with its memory limited.

    The worker that reads model files stays as it is: it lives on by itself, and forks, which needs one thread.
    """
    with tempfile.TemporaryDirectory(prefix="irbench-fuzz-") as folder:
        lender = _Lender(Path(folder))

        class LentWorker:
            """Stands in for a worker that is started for one call."""

            def __init__(self, *_: Any, **_options: Any) -> None: ...

            def ask(self, target: str, *args: Any, deadline_s: float, **options: Any) -> Any:
                try:
                    return lender.worker().ask(target, *args, deadline_s=min(deadline_s, _DEADLINE_S), **options)
                except CallFailed:
                    raise
                except BaseException:  # it died, or the call was given up and its answer is still to come
                    lender.drop()
                    raise

            def __enter__(self) -> Self:
                return self

            def __exit__(self, *_: object) -> None: ...

        try:
            with patch("irbench.worker.process.Worker", LentWorker):
                yield
        finally:
            lender.drop()
