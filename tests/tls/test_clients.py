"""Client certificates: who gets through the handshake, also without a server name, and after the files have changed."""

import socket
import ssl
import threading
from datetime import UTC, datetime

import pytest

from webhook.tls.authority import Pair, issue, new_authority
from webhook.tls.folder import Folder
from webhook.tls.self_signed import ensure, issue_client
from webhook.tls.serving_certificate import ServingCertificate

NOW = datetime.now(UTC)


@pytest.fixture
def folder(tmp_path):
    made = Folder(tmp_path / "certs")
    ensure(made, ("localhost",), NOW)
    return made


@pytest.fixture
def client_ca(tmp_path):
    """The file of authorities that clients are signed by."""
    return tmp_path / "client-ca.crt"


def client(folder, pair=None, **versions):
    """What a client trusts and shows."""
    context = ssl.create_default_context(cafile=str(folder.bundle))
    context.check_hostname = False
    if pair is not None:
        for path, data in ((folder.client_certificate, pair.certificate), (folder.client_key, pair.key)):
            path.write_bytes(data)
        context.load_cert_chain(folder.client_certificate, folder.client_key)
    for name, version in versions.items():
        setattr(context, name, version)
    return context


def admitted(serving, context, name="localhost", session=None):
    """Say a word through a handshake; give what the server sees of the client and the session, None if refused."""
    seen = []

    def serve():
        connection, _ = listener.accept()
        with connection:
            try:
                with serving.context.wrap_socket(connection, server_side=True) as secure:
                    seen.append(secure.getpeercert() or {})
                    secure.sendall(secure.recv(1))
            except OSError:
                pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            with (
                socket.create_connection(listener.getsockname()) as plain,
                context.wrap_socket(plain, server_hostname=name, session=session) as secure,
            ):
                secure.sendall(b"x")
                return (seen[0].get("subject"), secure.session) if secure.recv(1) == b"x" else None
        except OSError:
            return None
        finally:
            thread.join()


def signed(name="kube-apiserver", **options):
    """A new authority, and a certificate of it."""
    authority = new_authority(NOW)
    return authority, issue(authority, (name,), NOW, **{"client": True, **options})


@pytest.mark.parametrize("name", ["localhost", None])
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_only_a_certificate_of_the_authority_gets_through(folder, client_ca, name, version):
    """One of a stranger's authority, and one that is a server's, end in the handshake; who shows none is nobody."""
    authority, good = signed()
    client_ca.write_bytes(authority.certificate)
    serving = ServingCertificate(folder, client_ca)
    server_like = issue(authority, ("kube-apiserver",), NOW)
    for pair in (signed()[1], server_like):
        assert admitted(serving, client(folder, pair, maximum_version=version), name) is None
    subject, _ = admitted(serving, client(folder, maximum_version=version), name)
    assert subject is None
    subject, _ = admitted(serving, client(folder, good, maximum_version=version), name)
    assert subject == ((("commonName", "kube-apiserver"),),)


def test_authorities_come_and_go_with_their_file(folder, client_ca):
    """An authority that is added to the file is trusted, one that was taken out is not, without a restart."""
    (one, by_one), (two, by_two) = signed(), signed()
    client_ca.write_bytes(one.certificate)
    serving = ServingCertificate(folder, client_ca)
    assert admitted(serving, client(folder, by_one))
    assert not admitted(serving, client(folder, by_two))
    client_ca.write_bytes(one.certificate + two.certificate)
    assert serving.reload()
    assert admitted(serving, client(folder, by_one))
    assert admitted(serving, client(folder, by_two))
    client_ca.write_bytes(two.certificate)
    assert serving.reload()
    assert not admitted(serving, client(folder, by_one))
    assert admitted(serving, client(folder, by_two))


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_no_session_is_taken_up_again(folder, client_ca, version):
    """A session is no way around an authority that is not trusted any more."""
    authority, good = signed()
    client_ca.write_bytes(authority.certificate)
    serving = ServingCertificate(folder, client_ca)
    context = client(folder, good, maximum_version=version)
    _, session = admitted(serving, context)
    client_ca.write_bytes(signed()[0].certificate)
    assert serving.reload()
    assert admitted(serving, context, session=session) is None


def test_a_broken_file_of_authorities_keeps_the_good_ones(folder, client_ca):
    """At the start it is an error that names the file; later it is a problem, and nobody is let in by it."""
    authority, good = signed()
    client_ca.write_text("nothing")
    with pytest.raises(ValueError, match=r"client-ca\.crt is not a PEM certificate"):
        ServingCertificate(folder, client_ca)
    client_ca.write_bytes(authority.certificate)
    serving = ServingCertificate(folder, client_ca)
    client_ca.write_text("nothing")
    assert [serving.reload(), serving.reload()] == [False, False]
    assert "client-ca.crt" in serving.problem
    assert admitted(serving, client(folder, good))
    assert not admitted(serving, client(folder, signed()[1]))


def test_the_folders_authority_signs_clients(folder):
    """`sluice certs --client` makes a pair that a server with the same `ca.crt` lets in."""
    issue_client(folder, "kube-apiserver", NOW)
    serving = ServingCertificate(folder, folder.bundle)
    pair = Pair(folder.client_certificate.read_bytes(), folder.client_key.read_bytes())
    assert admitted(serving, client(folder, pair))
    assert folder.client_key.stat().st_mode & 0o777 == 0o600


def test_without_a_file_nobody_is_asked(folder):
    """A server that was not told to ask lets clients in as they are."""
    subject, _ = admitted(ServingCertificate(folder), client(folder))
    assert subject is None
