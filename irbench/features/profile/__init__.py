"""Where the time of an inference goes on each backend, operator by operator.

Each backend's own profiler times its operators, which are joined with the nodes of the graph, so that backends and
levels of optimisation can be compared by class of work, operator or node. The same inference is timed without profiling
beside it.
"""

from irbench.terminal.commands import Command

COMMANDS = (Command("profile", "Understand", "Show where inference time goes, operator by operator.", rank=0),)
PAGE = "docs/profiling.md"
