"""Routes through the optimiser: levels, passes and precisions."""

from __future__ import annotations

from dataclasses import dataclass

from irbench.optimizer.recipe import LEVELS


@dataclass(frozen=True)
class Route:
    """What is done to a graph.

    Attributes:
        name: What reports call it: a pass, a level, or a precision.
        passes: Names of passes, in order.
        conversion: What follows them: ``fp16``, ``bf16``, ``int8-static``, ``int8-dynamic``, or nothing.
    """

    name: str
    passes: tuple[str, ...]
    conversion: str = ""


def level_routes() -> list[Route]:
    """Return a route for each level that is not the beginning of another one: its steps are checked one by one."""
    levels = {name: passes for name, passes in LEVELS.items() if passes}
    return [
        Route(f"level {name}", passes)
        for name, passes in levels.items()
        if not any(other[: len(passes)] == passes and len(other) > len(passes) for other in levels.values())
    ]


def pass_route(name: str) -> Route:
    """Return the route of a single pass."""
    return Route(f"pass {name}", (name,))


def precision_routes() -> list[Route]:
    """Return a route for each precision, after what irbench does before it by default."""
    return [Route(name, LEVELS["basic"], name) for name in ("fp16", "bf16", "int8-static", "int8-dynamic")]
