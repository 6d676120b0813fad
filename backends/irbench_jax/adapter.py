"""The JAX backend: description, probe and sessions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import metadata
from importlib.util import find_spec

from irbench.spec import Artifact, Load
from irbench.spi import Availability, Description, Phases, Refusal, Session, Usage, UsedModel, extra_command


class JaxBackend:
    """Runs artifacts of kind ``jax-export``, compiled by XLA for the CPU."""

    name = "jax"
    consumes: tuple[str, ...] = ("jax-export",)

    def describe(self) -> Description:
        """Say what is installed, from metadata."""
        try:
            version = metadata.version("jax")
        except metadata.PackageNotFoundError:
            version = None
        return Description(
            "jax",
            "jax",
            version,
            install="" if version else extra_command("jax"),
            options=(),
            is_original=True,
            files=(),
            variables=("JAX_", "XLA_"),
        )

    def probe(self) -> Availability:
        """Say what XLA computes in on the CPU."""
        import jax

        return Availability(("cpu",), {"cpu": ("fp32",)}, {"cpu": "fp32"}, {"jaxlib": jax.lib.__version__})

    def check_load(self, load: Load, device: str, _graph_precision: str, /) -> None:
        """Refuse other devices, options, and precisions that the function does not compute in by itself."""
        if device != "cpu":
            raise Refusal(f"jax has no device {device!r}: it runs on the CPU alone.", hint="Use the device cpu: jax.")
        if load.options:
            raise Refusal(f"jax has no option {next(iter(load.options))!r}.", hint="It has none; XLA reads XLA_FLAGS.")
        if load.precision not in ("fp32", "native"):
            raise Refusal(
                f"JAX runs the function as it was exported and does not convert it to {load.precision}.",
                hint="Use `--precision fp32`, or write the function in that type and use `--precision native`.",
            )

    def import_runtime(self, load: Load, device: str, /) -> None:
        """Set the environment, and import JAX."""
        self.check_load(load, device, "")
        if find_spec("jax") is None:
            raise Refusal("JAX is not installed.", hint=extra_command("jax"))
        os.environ.update(environment_for(load))
        import jax

        jax.config.update("jax_enable_x64", True)  # programs hold their types; this lets inputs of 64 bits in

    def compile(self, artifact: Artifact, load: Load, device: str, phases: Phases, /) -> Session:  # noqa: ARG002
        """Load the program and compile it for the shapes of ``artifact``."""
        from irbench_jax.session import JaxSession

        return JaxSession(artifact, load, phases)

    def usage(self, model: UsedModel, load: Load, device: str, /) -> Usage:
        """Return how JAX is used for a load."""
        from irbench_jax.usage import usage

        self.check_load(load, device, "")
        return usage(model, environment_for(load))


def environment_for(load: Load) -> Mapping[str, str]:
    """Return the variables that must be set before JAX is imported; XLA takes the size of its pool from one."""
    threads = {} if load.threads is None else {"PJRT_NPROC": str(load.threads)}
    return {"JAX_PLATFORMS": "cpu", **threads}
