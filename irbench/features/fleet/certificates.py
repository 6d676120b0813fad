"""Certificates for a cluster that lives as long as a call: kept in memory, and sent over ssh alone."""

from __future__ import annotations

from datetime import timedelta

from irbench.features.fleet.cluster_process import Tls
from irbench.measure.clock import utc_now

_NAME = "irbench fleet"
_VALID = timedelta(days=30)
"""Before and after now: the clock of a target may be wrong."""


def certificates() -> Tls:
    """Return a new key with a certificate that is its own authority, for every part of a cluster."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, _NAME)])
    now = utc_now()
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _VALID)
        .not_valid_after(now + _VALID)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    written = certificate.public_bytes(serialization.Encoding.PEM).decode()
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Tls(written, written, secret.decode())
