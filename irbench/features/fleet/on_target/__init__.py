"""What runs on a target of a fleet: calls of the coordinator, the files it sent, and the processes of jobs."""


def call(task: str, *arguments: object) -> bytes:
    """Return what a task answers; this module imports nothing, so that whoever submits it needs nothing either."""
    from irbench.features.fleet.on_target.tasks import TASKS

    return TASKS[task](*arguments)
