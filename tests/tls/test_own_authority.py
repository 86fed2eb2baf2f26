"""Authorities that a site made itself, by openssl or Helm: what they sign is verified, or nothing is signed by them."""

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa

from tests.tls.test_certificates import shake_hands, trusting
from webhook.tls.authority import CA_DAYS, Pair, issue, new_authority
from webhook.tls.folder import Folder
from webhook.tls.serving_certificate import ServingCertificate
from webhook.tls.validity import expiry

NOW = datetime.now(UTC).replace(microsecond=0)
NAMES = ("localhost",)
CA = x509.BasicConstraints(ca=True, path_length=None)
NO_CA = x509.BasicConstraints(ca=False, path_length=None)
KEYS = {
    "rsa": lambda: rsa.generate_private_key(65537, 2048),
    "curve": lambda: ec.generate_private_key(ec.SECP384R1()),
    "ed25519": ed25519.Ed25519PrivateKey.generate,
    "weak": lambda: rsa.generate_private_key(65537, 1024),
    "dsa": lambda: dsa.generate_private_key(2048),
}


def pem_of(key, encryption=None):
    encryption = encryption or serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)


def usage(**given):
    """A KeyUsage with nothing but what is given."""
    names = ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
    names += ("key_cert_sign", "crl_sign", "encipher_only", "decipher_only")
    return x509.KeyUsage(**{name: given.get(name, False) for name in names})


def authority_of(key, *extensions, days=CA_DAYS, now=NOW):
    """What `openssl req -x509` makes: an authority with these extensions."""
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "theirs")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=days))
    for extension in extensions:
        builder = builder.add_extension(extension, critical=not isinstance(extension, x509.SubjectKeyIdentifier))
    algorithm = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    return Pair(builder.sign(key, algorithm).public_bytes(serialization.Encoding.PEM), pem_of(key))


@pytest.mark.parametrize("named", ["by its key", "otherwise", "not"])
@pytest.mark.parametrize("kind", ["rsa", "curve", "ed25519"])
def test_what_it_signs_is_verified(tmp_path, kind, named):
    """Whatever the kind of its key, and however it names itself."""
    key = KEYS[kind]()
    names = {
        "by its key": (x509.SubjectKeyIdentifier.from_public_key(key.public_key()),),
        "otherwise": (x509.SubjectKeyIdentifier(b"a name of their own"),),
        "not": (),
    }
    authority = authority_of(key, CA, *names[named])
    leaf, folder = issue(authority, NAMES, NOW), Folder(tmp_path)
    folder.certificate.write_bytes(leaf.certificate)
    folder.key.write_bytes(leaf.key)
    assert shake_hands(ServingCertificate(folder).context, trusting(authority.certificate))


@pytest.mark.parametrize(
    ("extensions", "why"),
    [
        ((), "may sign others"),
        ((NO_CA,), "may sign others"),
        ((CA, usage(digital_signature=True)), "may sign others"),
    ],
    ids=["no kind", "no authority", "another use"],
)
def test_nothing_is_signed_by_what_is_no_authority(extensions, why):
    """Callers would refuse it."""
    with pytest.raises(ValueError, match=why):
        issue(authority_of(KEYS["curve"](), *extensions), NAMES, NOW)


def test_nothing_is_signed_by_a_key_that_does_not_fit():
    """One of another authority, one of a kind that callers do not know, and one that cannot be read."""
    key = KEYS["curve"]()
    theirs = authority_of(key, CA, usage(key_cert_sign=True)).certificate
    encrypted = pem_of(key, serialization.BestAvailableEncryption(b"secret"))
    rows = {
        new_authority(NOW).key: "is not that of its certificate",
        pem_of(KEYS["dsa"]()): "neither RSA",
        encrypted: "is encrypted",
    }
    for pem, why in rows.items():
        with pytest.raises(ValueError, match=why):
            issue(Pair(theirs, pem), NAMES, NOW)


def test_a_certificate_ends_with_its_authority():
    """Nobody accepts it afterwards; by an authority that has ended nothing is signed."""
    authority = new_authority(NOW, 10)
    assert expiry(issue(authority, NAMES, NOW, 90).certificate) == expiry(authority.certificate)
    with pytest.raises(ValueError, match="has expired"):
        issue(authority, NAMES, NOW + timedelta(days=10))
