"""A certificate authority, and certificates issued by it, as PEM.

Pure: names and the time are parameters. No files are read or written here (see `folder.py`).
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeVar

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

CA_DAYS: Final = 3650
LEAF_DAYS: Final = 365
SKEW: Final = timedelta(minutes=5)
"""Tolerated clock difference between two machines, so that a new certificate is not `not yet valid`."""
_SigningKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey
"""What API servers verify certificates by: a site may have made the authority itself."""
_Extension = TypeVar("_Extension", bound=x509.ExtensionType)


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key, both as PEM."""

    certificate: bytes
    key: bytes


def new_authority(now: datetime, days: int = CA_DAYS) -> Pair:
    """Return a self-signed CA that can only issue leaf certificates (path length 0). `now` is aware, in UTC."""
    key = ec.generate_private_key(ec.SECP256R1())
    serial = x509.random_serial_number()
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"sluice-ca-{serial % 10**8:08d}")])
    usage = _key_usage(certificate_sign=True)
    builder = (
        _builder(name, name, key, serial, now, now + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    return _pair(builder.sign(key, hashes.SHA256()), key)


def issue(
    authority: Pair, names: tuple[str, ...], now: datetime, days: int = LEAF_DAYS, *, client: bool = False
) -> Pair:
    """Issue a server or client certificate for `names` (DNS names or addresses; the first is the common name).

    It ends with its CA at the latest. Raises ValueError if there is no name, the CA's PEM cannot be read, or it and its
    key are no CA whose certificates callers accept. RFC 5280, RFC 6125.
    """
    if not names:
        raise ValueError("a certificate needs at least one name")
    usage = ExtendedKeyUsageOID.CLIENT_AUTH if client else ExtendedKeyUsageOID.SERVER_AUTH
    ca, ca_key = _authority(authority)
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0][:64])])
    ends = min(now + timedelta(days=days), ca.not_valid_after_utc)
    if ends <= now:
        raise ValueError("the authority's certificate has expired")
    builder = (
        _builder(subject, ca.subject, key, x509.random_serial_number(), now, ends)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(), critical=True)
        .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(_named(ca, ca_key), critical=False)
    )
    return _pair(builder.sign(ca_key, None if isinstance(ca_key, ed25519.Ed25519PrivateKey) else hashes.SHA256()), key)


def is_pair(pair: Pair) -> bool:
    """Return whether the key is that of the certificate. Raises ValueError if one of them cannot be read."""
    return x509.load_pem_x509_certificate(pair.certificate).public_key() == _key_of(pair.key).public_key()


def names_of(pem: bytes) -> tuple[str, ...]:
    """Return the DNS names and addresses of the first certificate in `pem`."""
    names = _extension(x509.load_pem_x509_certificate(pem), x509.SubjectAlternativeName)
    return () if names is None else tuple(str(name.value) for name in names)


def bundle(new: bytes, old: bytes, now: datetime) -> bytes:
    """Join CA certificates, the new one first; those of `old` are kept until they expire, each once.

    With both in the bundle, API servers verify the old leaf as well as the new one during the rotation.
    """
    seen, parts = set(), []
    for certificate in [*_all(new), *_all(old)]:
        mark = certificate.fingerprint(hashes.SHA256())
        if mark not in seen and certificate.not_valid_after_utc > now:
            seen.add(mark)
            parts.append(certificate.public_bytes(serialization.Encoding.PEM))
    return b"".join(parts)


def _all(pem: bytes) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(pem) if pem.strip() else []


def _authority(authority: Pair) -> tuple[x509.Certificate, _SigningKey]:
    """Return what to sign by. Raises ValueError where callers would refuse what it signs (RFC 5280, 4.2.1.9)."""
    ca, key = x509.load_pem_x509_certificate(authority.certificate), _key_of(authority.key)
    if ca.public_key() != key.public_key():
        raise ValueError("the authority's key is not that of its certificate")
    kind, usage = _extension(ca, x509.BasicConstraints), _extension(ca, x509.KeyUsage)
    if kind is None or not kind.ca or (usage is not None and not usage.key_cert_sign):
        raise ValueError("the authority's certificate is not one that may sign others")
    return ca, key


def _key_of(pem: bytes) -> _SigningKey:
    try:
        key = serialization.load_pem_private_key(pem, None)
    except (TypeError, UnsupportedAlgorithm):
        raise ValueError("the private key is encrypted, or of an unknown kind") from None
    if not isinstance(key, _SigningKey):
        raise ValueError("the private key is neither RSA, nor of an elliptic curve, nor Ed25519")
    return key


def _named(ca: x509.Certificate, key: _SigningKey) -> x509.AuthorityKeyIdentifier:
    """Name the authority as it names itself, for callers compare the two; else by its key, as a site's own may not."""
    own = _extension(ca, x509.SubjectKeyIdentifier)
    if own is None:
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own)


def _extension(certificate: x509.Certificate, kind: type[_Extension]) -> _Extension | None:
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, serial: int, now: datetime, ends: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(serial)
        .not_valid_before(now - SKEW)
        .not_valid_after(ends)
    )


def _key_usage(*, certificate_sign: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not certificate_sign,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=certificate_sign,
        crl_sign=certificate_sign,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Pair:
    return Pair(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    )
