"""Certificates: made, verified by a real handshake, renewed, rotated with an overlap, served while they change."""

import asyncio
import logging
import socket
import ssl
import stat
import threading
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from hypothesis import given, settings
from hypothesis import strategies as st

from webhook.cli.commands.server.certs import certs
from webhook.tls import self_signed
from webhook.tls.authority import bundle, issue, names_of, new_authority
from webhook.tls.folder import Folder
from webhook.tls.self_signed import RENEW_BEFORE, ensure, rotate
from webhook.tls.serving_certificate import ServingCertificate
from webhook.tls.validity import expiry

NOW = datetime.now(UTC)
NAMES = ("localhost", "127.0.0.1", "sluice.sluice-system.svc")
WHOLE = new_authority(NOW).certificate


@pytest.fixture
def folder(tmp_path):
    made = Folder(tmp_path / "certs")
    ensure(made, NAMES, NOW)
    return made


def shake_hands(context, trust, name="localhost"):
    """Connect once over loopback and give the certificate that was shown (DER)."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            connection, _ = listener.accept()
            with connection:
                try:
                    context.wrap_socket(connection, server_side=True).close()
                except OSError:
                    connection.close()

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            with (
                socket.create_connection(listener.getsockname()) as plain,
                trust.wrap_socket(plain, server_hostname=name) as secure,
            ):
                return secure.getpeercert(binary_form=True)
        finally:
            thread.join()


def trusting(pem):
    return ssl.create_default_context(cadata=pem.decode())


@pytest.mark.parametrize("name", NAMES)
def test_a_client_that_trusts_the_bundle_accepts_every_name(folder, name):
    """The leaf verifies against `ca.crt` for each DNS name and address it was made for."""
    assert shake_hands(ServingCertificate(folder).context, trusting(folder.bundle.read_bytes()), name)


def test_another_name_is_refused(folder):
    """A name that is not in the certificate fails the handshake."""
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(ServingCertificate(folder).context, trusting(folder.bundle.read_bytes()), "example.org")


def test_keys_are_for_the_owner_only(folder):
    """Private keys have mode 0600; certificates may be read by all."""
    for path in (folder.key, folder.authority_key):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.certificate.stat().st_mode) & 0o044


def test_a_good_certificate_is_kept(folder):
    """A second `ensure` changes nothing."""
    before = folder.certificate.read_bytes()
    assert ensure(folder, NAMES, NOW).startswith("kept")
    assert folder.certificate.read_bytes() == before


def test_a_new_name_or_a_near_end_renews_the_leaf_only(folder):
    """The leaf is issued anew for a name it lacks, and before it ends; the authority stays."""
    authority = folder.bundle.read_bytes()
    ensure(folder, (*NAMES, "other.local"), NOW)
    assert "other.local" in names_of(folder.certificate.read_bytes())
    ends = expiry(folder.certificate.read_bytes())
    later = ends - RENEW_BEFORE + timedelta(days=1)
    ensure(folder, NAMES, later)
    assert expiry(folder.certificate.read_bytes()) > ends
    assert folder.bundle.read_bytes() == authority


@pytest.mark.parametrize("last", ["tls.key", "ca.key", "ca.crt"])
@pytest.mark.parametrize("force", [False, True])
def test_a_rotation_that_was_interrupted_is_finished_by_the_next_run(folder, monkeypatch, last, force):
    """Behind each of its files: what is there afterwards can be served, and whoever trusted the old CA is not lost."""
    before, real = folder.bundle.read_bytes(), self_signed.write

    def write(path, data, *, secret=False):
        real(path, data, secret=secret)
        if path.name == last:
            raise KeyboardInterrupt

    monkeypatch.setattr(self_signed, "write", write)
    with pytest.raises(KeyboardInterrupt):
        rotate(folder, NAMES, NOW)
    monkeypatch.undo()
    ensure(folder, NAMES, NOW, force=force)
    assert shake_hands(ServingCertificate(folder).context, trusting(folder.bundle.read_bytes()))
    assert folder.bundle.read_bytes().endswith(before)
    assert ensure(folder, NAMES, NOW).startswith("kept")


@pytest.mark.parametrize("force", [False, True])
def test_an_authoritys_key_that_cannot_be_read_is_left_alone(folder, force):
    """It may be encrypted: nobody but its owner can tell whether it is still wanted."""
    key = serialization.load_pem_private_key(folder.authority_key.read_bytes(), None)
    encryption = serialization.BestAvailableEncryption(b"secret")
    written = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
    folder.authority_key.write_bytes(written)
    with pytest.raises(ValueError, match=r"ca\.key: the private key is encrypted"):
        ensure(folder, NAMES, NOW, force=force)
    assert folder.authority_key.read_bytes() == written


def test_a_rotation_overlaps(folder):
    """After a rotation the bundle verifies the old leaf and the new one; the old authority goes when it expires."""
    old_authority, old = folder.bundle.read_bytes(), ServingCertificate(folder)
    rotate(folder, NAMES, NOW)
    both = trusting(folder.bundle.read_bytes())
    assert shake_hands(old.context, both)
    assert shake_hands(ServingCertificate(folder).context, both)
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(ServingCertificate(folder).context, trusting(old_authority))
    assert bundle(new_authority(NOW).certificate, old_authority, NOW + timedelta(days=4000)) == b""


def test_a_certificate_that_somebody_else_signs_is_left_alone(folder):
    """Without the authority's key (cert-manager) nothing is issued; an expired leaf there is an error."""
    folder.authority_key.unlink()
    before = folder.certificate.read_bytes()
    assert ensure(folder, NAMES, NOW) == "kept: signed by another CA"
    assert folder.certificate.read_bytes() == before
    with pytest.raises(ValueError, match="expired"):
        ensure(folder, NAMES, NOW + timedelta(days=500))


def test_a_new_pair_is_served_to_new_connections(folder):
    """After certificate and key were replaced, `reload` serves them, on the same context."""
    serving = ServingCertificate(folder)
    trust = trusting(folder.bundle.read_bytes())
    before = shake_hands(serving.context, trust)
    assert serving.reload() is False
    ensure(folder, NAMES, NOW, force=True)
    assert serving.reload() is True
    assert shake_hands(serving.context, trust) != before


def renewed(folder):
    """The folder's certificate, valid for longer, for the same key: what cert-manager makes where keys stay."""
    old = x509.load_pem_x509_certificate(folder.certificate.read_bytes())
    signer = serialization.load_pem_private_key(folder.authority_key.read_bytes(), None)
    builder = x509.CertificateBuilder(old.issuer, old.subject, old.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(NOW).not_valid_after(NOW + timedelta(days=700))
    for extension in old.extensions:
        builder = builder.add_extension(extension.value, extension.critical)
    return builder.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def test_a_certificate_renewed_for_the_same_key_is_served(folder):
    """Whoever keeps the key replaces one file only: it is served as soon as it is there."""
    serving = ServingCertificate(folder)
    trust = trusting(folder.bundle.read_bytes())
    before, ends = shake_hands(serving.context, trust), serving.expires
    folder.certificate.write_bytes(renewed(folder))
    assert serving.reload() is True
    assert shake_hands(serving.context, trust) != before
    assert serving.expires > ends
    assert serving.reload() is False


@pytest.mark.parametrize("first", ["certificate", "key"])
def test_half_a_pair_is_never_served(folder, first):
    """Two files that do not belong together leave the good pair in service; where that lasts it is told."""
    serving = ServingCertificate(folder)
    trust = trusting(folder.bundle.read_bytes())
    before = shake_hands(serving.context, trust)
    other = issue(new_authority(NOW), NAMES, NOW)
    files = {"certificate": (folder.certificate, other.certificate), "key": (folder.key, other.key)}
    path, data = files.pop(first)
    path.write_bytes(data)
    assert (serving.reload(), serving.problem) == (False, "")  # the other file may be on its way
    for _ in range(2):
        assert serving.reload() is False
        assert "do not match" in serving.problem
        assert shake_hands(serving.context, trust) == before
    ((path, data),) = files.values()
    path.write_bytes(data)
    assert (serving.reload(), serving.problem) == (True, "")


def test_a_file_that_is_gone_or_broken_is_told(folder):
    """What cannot be read is a problem with the file's name, and goes away with its cause."""
    serving = ServingCertificate(folder)
    good = folder.certificate.read_bytes()
    for harm in (folder.certificate.unlink, lambda: folder.certificate.write_text("no PEM")):
        harm()
        assert [serving.reload(), serving.reload()] == [False, False]
        assert "tls.crt" in serving.problem
        folder.certificate.write_bytes(good)
        assert (serving.reload(), serving.problem) == (False, "")


def test_files_that_change_while_they_are_read_are_read_again(folder, monkeypatch):
    """A pair of which one file was replaced between two reads is not taken over, even where it would load."""
    serving = ServingCertificate(folder)
    trust = trusting(folder.bundle.read_bytes())
    before = shake_hands(serving.context, trust)
    newest = renewed(folder)
    folder.certificate.write_bytes(renewed(folder))
    load = ssl.SSLContext.load_cert_chain

    def slow(context, *files, **options):
        load(context, *files, **options)
        folder.certificate.write_bytes(newest)

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", slow)
    assert serving.reload() is False
    assert shake_hands(serving.context, trust) == before
    monkeypatch.undo()
    assert serving.reload() is True


def test_a_leaf_needs_a_name():
    """Issuing without a name is refused."""
    with pytest.raises(ValueError, match="at least one name"):
        issue(new_authority(NOW), (), NOW)


def test_the_command_makes_and_rotates(tmp_path):
    """`sluice certs` makes a folder for a Service, and `--rotate` replaces authority and leaf."""
    arguments = ["--dir", str(tmp_path), "--service", "sluice", "--name", "localhost"]
    made = CliRunner().invoke(certs, arguments)
    assert made.exit_code == 0, made.output
    assert "by a new CA" in made.output
    names = names_of((tmp_path / "tls.crt").read_bytes())
    assert {"sluice.sluice-system.svc", "localhost"} <= set(names)
    before = (tmp_path / "ca.crt").read_bytes()
    assert CliRunner().invoke(certs, [*arguments, "--rotate"]).exit_code == 0
    after = (tmp_path / "ca.crt").read_bytes()
    assert after != before
    assert after.endswith(before)


def test_the_command_names_what_is_wrong(tmp_path):
    """A folder that is a file ends with exit code 2 and a sentence."""
    (tmp_path / "f").write_text("")
    done = CliRunner().invoke(certs, ["--dir", str(tmp_path / "f")])
    assert done.exit_code == 2
    assert "'--cert-dir'" in done.output


def test_changes_are_followed_and_told(folder, caplog):
    """A renewal is served and logged; what cannot be used is logged once, however long it lasts."""
    serving = ServingCertificate(folder)
    ends = serving.expires

    async def go():
        following = asyncio.create_task(serving.follow(0.001))
        folder.certificate.write_bytes(renewed(folder))
        await until(lambda: serving.expires != ends)
        good = folder.certificate.read_bytes()
        folder.certificate.write_text("no PEM")
        await until(lambda: serving.problem)
        await asyncio.sleep(0.05)
        folder.certificate.write_bytes(good)
        await until(lambda: not serving.problem)
        following.cancel()

    async def until(condition):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.001)

    with caplog.at_level(logging.INFO):
        asyncio.run(go())
    assert [record.levelname for record in caplog.records] == ["INFO", "ERROR"]


@pytest.mark.parametrize("days", [1, 365, 366 * 30, 366 * 90])
@pytest.mark.parametrize("before", [b"", b"Subject: CN=sluice\n"])
def test_the_end_is_what_cryptography_reads(days, before):
    """Ends before 2050 are written with two digits of the year, later ones with four; a chain begins with the leaf."""
    authority = new_authority(NOW, days)
    leaf = issue(authority, NAMES, NOW, days).certificate
    ends = x509.load_pem_x509_certificate(leaf).not_valid_after_utc
    assert expiry(before + leaf + authority.certificate) == ends
    assert expiry(authority.certificate) == x509.load_pem_x509_certificate(authority.certificate).not_valid_after_utc


@given(st.data())
@settings(deadline=None)
def test_a_damaged_certificate_has_no_end_or_one(data):
    """Whatever stands in the file: a time, or a ValueError."""
    der = bytearray(ssl.PEM_cert_to_DER_cert(WHOLE.decode()))
    for _ in range(data.draw(st.integers(0, 4))):
        der[data.draw(st.integers(0, len(der) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(der)))
    try:
        found = expiry(ssl.DER_cert_to_PEM_cert(bytes(der[:cut])).encode())
    except ValueError:
        return
    assert found.tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [b"", b"-----BEGIN CERTIFICATE-----\n", WHOLE[:-40], WHOLE.replace(b"MII", b"%%%", 1)],
    ids=["empty", "begun", "cut", "not-base64"],
)
def test_what_is_no_certificate_has_no_end(text):
    """A file that is empty, half written, or something else."""
    with pytest.raises(ValueError, match="certificate"):
        expiry(text)
