"""Whether a target may measure: its versions, its machine, and its worker."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata

from irbench import __version__
from irbench.features.fleet.cluster import Member
from irbench.features.fleet.cluster_process import RESOURCE
from irbench.features.fleet.messages import FORMAT, TargetFacts
from irbench.features.fleet.targets import FleetFile


def problem_of_target(facts: TargetFacts, member: Member, fleet: FleetFile, others: Mapping[str, str]) -> str:
    """Return why a target may not measure; empty where it may.

    Args:
        facts: What it says of itself.
        member: Its worker.
        fleet: What is asked of all targets.
        others: Names of the targets that measure, by their machines.
    """
    if facts.irbench_version != __version__ or facts.format != FORMAT:
        return f"it has irbench {facts.irbench_version}, and {__version__} is needed: install it there"
    here, there = metadata.version("distributed"), facts.distributions.get("distributed")
    if there != here:
        return f"it has distributed {there}, and {here} is needed: install it there"
    if not member.measures:
        return f"its worker has no resource for jobs: start it with --resources {RESOURCE}=1"
    if facts.machine in others and not fleet.same_machine:
        return f"it is the same machine as {others[facts.machine]}: remove one of them"
    return next(filter(None, (_version_problem(facts, *pair) for pair in fleet.requires.items())), "")


def _version_problem(facts: TargetFacts, name: str, wanted: str) -> str:
    from packaging.specifiers import SpecifierSet
    from packaging.utils import canonicalize_name

    versions = {canonicalize_name(installed): version for installed, version in facts.distributions.items()}
    there = versions.get(canonicalize_name(name))
    if there is None:
        return f"it has no {name}, and {wanted} is required: install it there"
    if not SpecifierSet(wanted).contains(there, prereleases=True):
        return f"it has {name} {there}, and {wanted} is required: install that there"
    return ""
