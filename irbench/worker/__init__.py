"""Work in a process of its own: one session, one probe, one export, none able to harm the coordinator."""

from irbench.worker.process import Worker, WorkerDied, call_in_worker

__all__ = ["Worker", "WorkerDied", "call_in_worker"]
