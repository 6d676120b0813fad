"""From versions as users name them to the environments that their runtimes are measured in."""

from __future__ import annotations

from collections.abc import Sequence

from irbench.api.progress import Say
from irbench.core import registry
from irbench.core.address import BackendAddress
from irbench.environments.candidates import Candidate, as_environment, candidate, labelled, shared_backend
from irbench.environments.sources import parse_source
from irbench.measure.lock import measuring
from irbench.spec import PythonEnvironment

_KEYS = "abcdefghijklmnopqrstuvwxyz"


class Environments:
    """Environments of versions, each built and looked at once.

    Args:
        backend: As users name it; ``None`` for the one that is meant.
        say: Receives which environments are built.
        insist: Build them even if someone measures on this machine.

    Raises:
        IrbenchError: There is no such backend, or no such device of it.
    """

    def __init__(self, backend: str | None, say: Say, *, insist: bool) -> None:
        self._address = None if backend is None else registry.parse_backend(backend)
        self._say = say
        self._insist = insist
        self._known: dict[str, Candidate] = {}

    def of(self, versions: Sequence[str]) -> tuple[BackendAddress, tuple[PythonEnvironment, ...]]:
        """Return the backend whose runtime all versions have, and their environments.

        Args:
            versions: As users name them.

        Raises:
            IrbenchError: An environment cannot be built or used, there is not one backend to choose, or someone
                measures.
        """
        candidates = [self._candidate(text) for text in versions]
        name = shared_backend(candidates, None if self._address is None else self._address.name)
        found = (as_environment(key, name, each) for key, each in zip(_KEYS, candidates, strict=False))
        return self._address or BackendAddress(name), labelled(tuple(found))

    def _candidate(self, text: str) -> Candidate:
        if text not in self._known:
            source = parse_source(text)
            with measuring("environments", insist=self._insist):  # installing disturbs whoever measures
                self._known[text] = candidate(text, source, self._say)
        return self._known[text]
