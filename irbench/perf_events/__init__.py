"""Hardware and software counters: what can be asked of ``perf stat``, how its answers are read, and what they mean.

Nothing here starts a process or touches a file; :mod:`irbench.measure.perf_stat` does.
"""
