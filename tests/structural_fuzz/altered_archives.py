"""Archives of runs with hostile members: links, devices, ratios, duplicates, names, claims about sizes."""

from __future__ import annotations

import gzip
import random
import tarfile
from collections.abc import Callable

from .hostile_values import OUTSIDE, TEXTS, is_seldom

_TYPES = (
    tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE,
    tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CONTTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK,
    tarfile.GNUTYPE_SPARSE, tarfile.XHDTYPE, tarfile.XGLTYPE, b"?", b"\x00",
)  # fmt: skip
_NAMES = (
    "{run}/run.json", "runs/2026-11/{run}/run.json", "{run}/launch-00-00.bin", "{run}/launch-00-99.bin",
    "{run}/logs/a.log", "{run}/logs/../../../escaped", "{run}/logs/.hidden", "/{run}/run.json", "../{run}/run.json",
    "./{run}/run.json", "{run}", "{run}/", "{run}/run.json/", "{run}/index.sqlite", "index.sqlite",
    "a/b/c/{run}/run.json", OUTSIDE, "x" * 90, "",
)  # fmt: skip
_SIZES = (-1, 0, 1, 511, 512, 513, 1 << 20, 1 << 28, (1 << 28) + 1, 1 << 33)
_ZEROS = 24 << 20

Members = list[tuple[tarfile.TarInfo, bytes]]


def archive(run_id: str, files: dict[str, bytes], chance: random.Random) -> bytes:
    """Return a compressed archive of a run's files, changed.

    Args:
        run_id: The run's folder.
        files: Its files, by their path in that folder.
        chance: Decides what is changed.
    """
    members = [(_regular(f"runs/2025-11/{run_id}/{name}", len(data)), data) for name, data in files.items()]
    for _ in range(chance.choice((1, 1, 2, 3))):
        _CHANGES[chance.randrange(len(_CHANGES))](members, run_id, chance)
    plain = b"".join(_blocks(member, data) for member, data in members) + bytes(1024)
    form = chance.randrange(12)
    if form == 0:
        return plain
    if form == 1:
        return _packed(plain)[: chance.randrange(1, 400)]
    if form == 2:
        return _packed(plain) + _packed(plain)
    if form == 3:
        return _packed(plain) + b"behind the end"
    return _packed(plain)


def _packed(data: bytes) -> bytes:
    return gzip.compress(data, 1, mtime=0)


def _regular(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size = size
    return member


def _blocks(member: tarfile.TarInfo, data: bytes) -> bytes:
    """Return a member's header, with whatever it claims, and its content."""
    try:
        header = member.tobuf(tarfile.USTAR_FORMAT, errors="surrogateescape")
    except (ValueError, UnicodeEncodeError):
        try:
            header = member.tobuf(tarfile.GNU_FORMAT, errors="replace")
        except (ValueError, UnicodeEncodeError):
            header = tarfile.TarInfo("x").tobuf(tarfile.USTAR_FORMAT)
    return header + data + bytes(-len(data) % tarfile.BLOCKSIZE)


def _add_strange(members: Members, run_id: str, chance: random.Random) -> None:
    """Add a member of any type and name, before or behind the others."""
    name = chance.choice(_NAMES).format(run=run_id) if not is_seldom(chance, 4) else chance.choice(TEXTS)
    member = tarfile.TarInfo(name.encode(errors="replace").decode())
    member.type = chance.choice(_TYPES)
    member.linkname = chance.choice((OUTSIDE, "/etc/passwd", "../..", "run.json", f"runs/2025-11/{run_id}"))
    data = chance.choice((b"", b"{}", bytes(600), b"30 path=../../escaped\n", b"\xff" * 20))
    member.size = len(data)
    members.insert(chance.choice((0, len(members))), (member, data))


def _claim_size(members: Members, _: str, chance: random.Random) -> None:
    member, _ = chance.choice(members)
    member.size = chance.choice(_SIZES)


def _link_then_file(members: Members, run_id: str, _: random.Random) -> None:
    """Put a link to the outside before a file below it."""
    link = tarfile.TarInfo(f"runs/2025-11/{run_id}/logs")
    link.type, link.linkname = tarfile.SYMTYPE, OUTSIDE
    members.insert(0, (link, b""))
    members.append((_regular(f"runs/2025-11/{run_id}/logs/a.log", 3), b"log"))


def _repeat(members: Members, run_id: str, chance: random.Random) -> None:
    member, data = chance.choice(members)
    members.extend([(member, data)] * (chance.choice((1, 2, 500)) if len(data) < _ZEROS else 1))


def _shuffle(members: Members, _: str, chance: random.Random) -> None:
    chance.shuffle(members)


def _inflate(members: Members, run_id: str, chance: random.Random) -> None:
    """Add what compresses to a thousandth."""
    name = chance.choice((f"runs/2025-11/{run_id}/logs/a.log", f"runs/2025-11/{run_id}/launch-00-09.bin", "other"))
    members.append((_regular(name, _ZEROS), bytes(_ZEROS)))


def _break_header(members: Members, _run_id: str, chance: random.Random) -> None:
    member, _ = chance.choice(members)
    member.mode, member.uid, member.mtime = chance.choice(_SIZES), chance.choice(_SIZES), chance.choice(_SIZES)
    member.uname = "\x1b[31m"


def _drop(members: Members, _: str, chance: random.Random) -> None:
    if len(members) > 1:
        del members[chance.randrange(len(members))]


def _say_elsewhere(members: Members, run_id: str, chance: random.Random) -> None:
    """Put an extended header before a member, which gives it another name or size."""
    said = chance.choice(
        ("path=../../escaped", f"path={OUTSIDE}", "size=99999999999", "size=-1", "linkpath=/etc/passwd")
    )
    record = f" {said}\n"
    length = len(record) + 2
    header = tarfile.TarInfo("pax")
    header.type = tarfile.XHDTYPE
    data = f"{length}{record}".encode()
    header.size = len(data)
    members.insert(chance.randrange(len(members) + 1), (header, data))


_CHANGES: tuple[Callable[[Members, str, random.Random], None], ...] = (
    _add_strange,
    _add_strange,
    _claim_size,
    _link_then_file,
    _repeat,
    _shuffle,
    _inflate,
    _break_header,
    _drop,
    _say_elsewhere,
)
