"""A server of ssh on this machine with keys of its own, for as long as a block lasts."""

from __future__ import annotations

import getpass
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

PROGRAM = shutil.which("sshd") or shutil.which("/usr/sbin/sshd")
_CONFIGURATION = """
Port {port}
ListenAddress {address}
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
"""


@dataclass(frozen=True)
class SshServer:
    """Where it is, and with which keys it is reached."""

    folder: Path
    address: str
    port: int
    process: subprocess.Popen[bytes]

    def target(self, name: str, *, identity: str = "user", known: str = "known", port: int | None = None) -> str:
        """Return a target of a fleet that is reached through it, as a file of targets has it."""
        return f"""
[[targets]]
name = "{name}"
host = "{getpass.getuser()}@{self.address}"
port = {port or self.port}
identity = "{self.folder}/{identity}"
known-hosts = "{self.folder}/{known}"
python = "{sys.executable}"
"""


@contextmanager
def ssh_server(folder: Path, address: str = "127.0.0.1", prefix: Sequence[str] = ()) -> Iterator[SshServer]:
    """Yield a server that is ready.

    Args:
        folder: Where its keys lie.
        address: Where it is reached.
        prefix: The command that runs it; of another network, for example.
    """
    assert PROGRAM is not None
    for key in ("host", "user", "stranger"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    kind, key, *_ = (folder / "host.pub").read_text().split()
    (folder / "known").write_text(f"[{address}]:{port} {kind} {key}\n")
    (folder / "nobody").write_text("")
    (folder / "sshd_config").write_text(_CONFIGURATION.format(address=address, port=port, folder=folder))
    with suppress(OSError):  # sshd asks for it where it runs as root
        Path("/run/sshd").mkdir(exist_ok=True)
    process = subprocess.Popen([*prefix, PROGRAM, "-D", "-e", "-f", folder / "sshd_config"], stderr=subprocess.PIPE)
    with process:
        assert process.stderr is not None
        while b"listening" not in (line := process.stderr.readline()):
            assert line, "sshd did not start"
        try:
            yield SshServer(folder, address, port, process)
        finally:
            process.terminate()
