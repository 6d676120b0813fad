"""Work in a process of its own: one session, one probe, one export, none able to harm the coordinator."""

from irbench.measure import process_start as process_start  # first: it reads the clock when it is imported
from irbench.worker.process import Worker, WorkerDied, call_in_worker

__all__ = ["Worker", "WorkerDied", "call_in_worker"]
