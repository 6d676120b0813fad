"""Why a target may not measure, or is not there: as facts, which are kept, and in words, which are written last."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from typing import Final, Literal, TypeAlias

import msgspec

from irbench import __version__
from irbench.core.plain_text import plain
from irbench.features.fleet.dask_process import RESOURCE
from irbench.features.fleet.messages import FORMAT, TargetFacts
from irbench.features.fleet.targets import FleetFile
from irbench.system.installation import elsewhere_command

_SSH_PORT: Final = 22

Code: TypeAlias = Literal[
    "irbench-version",
    "dask-version",
    "distribution-missing",
    "distribution-version",
    "no-resource",
    "same-machine",
    "answers-otherwise",
    "not-started",
    "no-answer",
    "python-missing",
    "unknown-host-key",
    "changed-host-key",
    "no-key-accepted",
    "key-unreadable",
    "not-reached",
    "cut",
    "worker-ended",
    "no-worker",
    "unwritable",
    "not-asked",
    "failed",
]
_TEXTS: Mapping[Code, tuple[str, str]] = {
    "irbench-version": (
        "it has irbench {there}, and {needed} is needed",
        "install irbench {needed} with its extra fleet there{install}",
    ),
    "dask-version": ("it has distributed {there}, and {needed} is needed", "install that version there"),
    "distribution-missing": ("it has no {subject}, and {needed} is required", "install it there"),
    "distribution-version": ("it has {subject} {there}, and {needed} is required", "install that there"),
    "no-resource": ("its worker has no resource for jobs", "start it with --resources {needed}=1"),
    "same-machine": ("it is the same machine as {subject}", "remove one of them"),
    "answers-otherwise": ("it does not answer as this irbench does", "install the same version there"),
    "not-started": (
        "irbench does not start there{said}",
        "install irbench {needed} with its extra fleet there, and name that Python with `python`{install}",
    ),
    "no-answer": ("it does not answer", "look at its load and its network"),
    "python-missing": ("{subject} cannot be started{said}", "check `python` of this target"),
    "unknown-host-key": (
        "the host key of {host} is not known",
        "compare what {scan} | ssh-keygen -lf - prints with its owner's fingerprints, then: {scan} >> {subject}",
    ),
    "changed-host-key": (
        "the host key of {host} is not the one in {subject}: it was reinstalled, or another machine is answering",
        "find out why it changed; if {scan} | ssh-keygen -lf - prints what its owner names: {replace}",
    ),
    "no-key-accepted": (
        "{host} accepts no key of yours",
        "add the public key to ~/.ssh/authorized_keys there, or name another with `identity`",
    ),
    "key-unreadable": ("a key cannot be read{said}", "check `identity` and `known-hosts`"),
    "not-reached": ("{host} cannot be reached{said}", "try: ssh -p {port} {host}"),
    "no-worker": (
        "no worker of the cluster has this name; those that measure there: {needed}",
        "start one with --name {subject} --resources measure=1, or correct the name",
    ),
    "worker-ended": ("its worker {reason}", "it is started again"),
    "cut": ("the connection was cut{said}", "look at its network, and at the log of its sshd"),
    "unwritable": (
        "its files cannot be written or read{said}",
        "make room there, or set IRBENCH_HOME in its `variables`",
    ),
    "not-asked": (
        "it sent something else than it was asked for{said}",
        "install the same irbench there; if it is the same, do not trust that machine",
    ),
    "failed": ("irbench failed to keep its worker running{said}", "report this as a bug of irbench"),
}
"""What is wrong, and how to fix it."""
_PASSING: tuple[Code, ...] = ("no-answer", "not-reached", "cut", "worker-ended", "no-worker")


class TargetProblem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a target may not measure, or is not there.

    Attributes:
        subject: A distribution, a target, a program, or the file of known hosts, by the code.
        there: The version there.
        needed: The version that is needed, what a worker lacks, or the names of workers.
        said: What the system or a process said.
    """

    code: Code
    subject: str = ""
    there: str = ""
    needed: str = ""
    host: str = ""
    port: int = _SSH_PORT
    said: str = ""

    @property
    def lasts(self) -> bool:
        """Whether trying again would not help."""
        return self.code not in _PASSING

    def text(self) -> str:
        """Return what is wrong, as half a sentence."""
        return self._filled(_TEXTS[self.code][0])

    def remedy(self) -> str:
        """Return how to fix it, as half a sentence."""
        return self._filled(_TEXTS[self.code][1])

    def _filled(self, text: str) -> str:
        said = f" ({self.said})" if self.said else ""
        bare_host = self.host.rpartition("@")[2]
        known_as = bare_host if self.port == _SSH_PORT else f"[{bare_host}]:{self.port}"
        scan = f"ssh-keyscan -p {self.port} {bare_host}"
        replace = f"ssh-keygen -R '{known_as}' -f {self.subject} && {scan} >> {self.subject}"
        command = elsewhere_command(__version__, "fleet")
        install = f": {command}" if command else ""
        more = {"said": said, "install": install, "reason": self.said, "scan": scan, "replace": replace}
        values = {**msgspec.structs.asdict(self), **more}
        return plain(text.format(**values))


def problem_of_target(
    facts: TargetFacts, fleet: FleetFile, others: Mapping[str, str], *, measures: bool
) -> TargetProblem | None:
    """Return why a target may not measure; ``None`` where it may.

    Args:
        facts: What it says of itself.
        fleet: What is asked of all targets.
        others: Names of the targets that measure, by their machines.
        measures: Whether its worker has the resource that jobs need.
    """
    if facts.irbench_version != __version__ or facts.format != FORMAT:
        return TargetProblem(code="irbench-version", there=facts.irbench_version, needed=__version__)
    here, there = metadata.version("distributed"), facts.distributions.get("distributed", "none")
    if there != here:
        return TargetProblem(code="dask-version", there=there, needed=here)
    if not measures:
        return TargetProblem(code="no-resource", needed=RESOURCE)
    if facts.machine in others and not fleet.same_machine:
        return TargetProblem(code="same-machine", subject=others[facts.machine])
    return next(filter(None, (_version_problem(facts, *pair) for pair in fleet.requires.items())), None)


def _version_problem(facts: TargetFacts, name: str, wanted: str) -> TargetProblem | None:
    from packaging.specifiers import SpecifierSet
    from packaging.utils import canonicalize_name

    versions = {canonicalize_name(installed): version for installed, version in facts.distributions.items()}
    there = versions.get(canonicalize_name(name))
    if there is None:
        return TargetProblem(code="distribution-missing", subject=name, needed=wanted)
    if not SpecifierSet(wanted).contains(there, prereleases=True):
        return TargetProblem(code="distribution-version", subject=name, there=there, needed=wanted)
    return None


def problems_text(problems: Mapping[str, TargetProblem]) -> str:
    """Return what is wrong with each of some targets; empty where nothing is known of any."""
    return "; ".join(f"{name}: {problem.text()}" for name, problem in problems.items())
