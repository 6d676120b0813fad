"""Training steps: what one costs, split by cause, and what each setting of training changes.

Each combination of settings is a row, whose call is a training step: waiting for a batch, then the compiled step. A
model whose loss does not fall is not timed. What each setting changes, alone and with others, follows from all rows.
"""

from irbench.runs.run_modes import RunMode
from irbench.terminal.commands import Command

COMMANDS = (Command("train", "Measure", "Measure training steps and the effect of settings.", rank=5),)
PAGE = "docs/training.md"
RUN_MODE = RunMode(
    "traced_steps", "step_traces", measure="step_traces.StepTraces", views="view.step_trace_views", follows_speeds=True
)
