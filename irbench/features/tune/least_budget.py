"""What a search takes at least, before anything is known of the machine that searches."""

from __future__ import annotations

from irbench.api.progress import Say
from irbench.features.tune.confirmation_plan import confirmation_timing
from irbench.features.tune.launch_costs import GUESSED, confirmation_s, launch_s
from irbench.features.tune.options import TuneOptions
from irbench.features.tune.search_progress import small_budget_text
from irbench.features.tune.search_schedule import SEARCH
from irbench.features.tune.service_level import least_serving_s
from irbench.spec import Timing


def least_budget_s(options: TuneOptions) -> float:
    """Return how long it takes to launch a setting beside the default of each backend, and to confirm it, in seconds.

    Starts and calls are guessed: a lower bound for models of usual size, whose calls last longer.
    """
    rows = [GUESSED] * (1 + len(options.run.backends or ("any",)))
    timing = confirmation_timing(Timing())
    search_s = launch_s(rows, SEARCH, verifies=True)
    if options.slo is not None:
        return search_s + least_serving_s(rows, timing)
    return search_s + confirmation_s(rows, timing, timing.min_launches)


def warn_of_small_budget(options: TuneOptions, say: Say, prepared_s: float = 0.0) -> None:
    """Say where no setting can be confirmed in the budget, and which one would be enough for that.

    ``prepared_s`` of the budget were used for preparation.
    """
    least_s = prepared_s + least_budget_s(options)
    if options.budget < least_s:
        say(small_budget_text(options.budget, least_s))
