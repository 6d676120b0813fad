"""Divide a number of threads among TensorFlow's thread pools."""

from __future__ import annotations

import os
from dataclasses import dataclass

from irbench.spec import Load
from irbench_tf.options import TensorFlowOptions

pool_of_process: dict[str, int] = {}
"""TensorFlow makes the intra-op pool once in a process; later sessions get the same."""


@dataclass(frozen=True)
class ThreadPlan:
    """Sizes of TensorFlow's pools; 0 is TensorFlow's own choice.

    Attributes:
        intra_op: Threads that share the work of one operation.
        on_caller: Whether each inference runs on its caller's thread instead of the inter-op pool.
    """

    intra_op: int
    inter_op: int
    on_caller: bool
    total: int


def plan_threads(load: Load, options: TensorFlowOptions) -> ThreadPlan:
    """Return the pools for a load.

    The thread that runs an operation takes one share of its work and the intra-op pool
    the others. One stream therefore keeps ``threads`` busy with a pool of as many; with
    several streams the callers come on top of the pool, which shrinks by their number.
    A pool of one is never used: each caller does its work alone.
    """
    if load.threads is None:
        inter_op = options.inter_op_threads or 0
        intra_op = pool_of_process.setdefault("intra_op", 0)
        return ThreadPlan(intra_op, inter_op, on_caller=False, total=intra_op or len(os.sched_getaffinity(0)))
    runners = load.streams if options.inter_op_threads is None else options.inter_op_threads
    wanted = load.threads if runners == 1 else max(1, load.threads - runners)
    intra_op = pool_of_process.setdefault("intra_op", wanted)
    total = intra_op if runners == 1 else runners if intra_op == 1 else runners + intra_op
    return ThreadPlan(intra_op, runners, on_caller=options.inter_op_threads is None, total=total)
