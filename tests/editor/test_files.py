"""Files as editors and other programs have them: line ends, names, folders that come later, changes from outside."""

import asyncio
import json
import subprocess
import sys

import pytest
from lsprotocol import types as lsp

from tests.editor.driver import editing
from tests.editor.marked import MARK, POLICY, placed
from tests.patience import until

UNBOUND = POLICY.replace("EXPRESSION", "object.spec.containers.all(c, c.image != '')").split("---\n")[0]
"""A policy of which only `sluice lint` tells something: that it has no binding."""
BOUND = POLICY.replace("EXPRESSION", "object.metadata.name != params.data.name")
PARAMETERS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: allowed, namespace: default}\ndata: {name: a}\n"


@pytest.mark.parametrize(
    ("file", "shown"),
    [
        (UNBOUND, UNBOUND),
        (UNBOUND.replace("\n", "\r\n"), UNBOUND.replace("\n", "\r\n")),
        ("\ufeff" + UNBOUND, UNBOUND),
        ("\ufeff" + UNBOUND, "\ufeff" + UNBOUND),
    ],
    ids=["plain", "CRLF", "BOM that the editor leaves out", "BOM"],
)
def test_what_lint_finds_is_told_of_a_saved_file(tmp_path, file, shown):
    (tmp_path / "policy.yaml").write_bytes(file.encode())

    async def go():
        async with editing(tmp_path) as editor:
            editor.show("policy.yaml", shown)
            return await editor.codes("policy.yaml", {"REF001"})

    assert [d.range.start.line for d in asyncio.run(go()) if d.code == "REF001"] == [3]


@pytest.mark.parametrize("place", ["link", "a@b+c(d)"])
def test_findings_and_definitions_name_files_as_the_editor_does(tmp_path, place):
    """Below a link, and with characters that programs write in several ways; also of a file that is not open."""
    folder = tmp_path / place
    if place == "link":
        (tmp_path / "real").mkdir()
        folder.symlink_to(tmp_path / "real")
    else:
        folder.mkdir()
    (folder / "other.yaml").write_text(UNBOUND.replace("name: images", "name: others"))
    (folder / "parameters.yaml").write_text(PARAMETERS)
    marked = BOUND.replace("name: allowed", f"name: allo{MARK}wed")

    async def go():
        async with editing(folder) as editor:
            editor.open("policy.yaml", UNBOUND)
            await editor.codes("policy.yaml", {"REF001"})
            await editor.codes("other.yaml", {"REF001"})
            editor.write("policy.yaml", placed(marked)[0])
            where = editor.at("policy.yaml", marked)
            found = await editor.client.text_document_definition_async(lsp.DefinitionParams(*where))
            return found, set(editor.told), {editor.uri(name) for name in ("policy.yaml", "other.yaml")}, editor

    (found,), told, wanted, editor = asyncio.run(go())
    assert found.uri == editor.uri("parameters.yaml")
    assert told == wanted


def test_a_folder_that_is_named_as_the_root_only(tmp_path):
    """As editors do that know no workspace folders."""

    async def go():
        async with editing(tmp_path, []) as editor:
            editor.open("policy.yaml", UNBOUND)
            return await editor.codes("policy.yaml", {"REF001"})

    assert asyncio.run(go())


def test_folders_that_are_opened_and_closed_later(tmp_path):
    """A new one is read and linted; of one that is closed nothing is told any more."""
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        (folder / "policy.yaml").write_text(UNBOUND)

    async def go():
        async with editing(first) as editor:
            one, two = (lsp.WorkspaceFolder(folder.as_uri(), "a") for folder in (first, second))
            event = lsp.WorkspaceFoldersChangeEvent(added=[two], removed=[])
            editor.client.workspace_did_change_workspace_folders(lsp.DidChangeWorkspaceFoldersParams(event))
            for folder in (first, second):
                editor.folder = folder
                await editor.codes("policy.yaml", {"REF001"})
            event = lsp.WorkspaceFoldersChangeEvent(added=[], removed=[one])
            editor.client.workspace_did_change_workspace_folders(lsp.DidChangeWorkspaceFoldersParams(event))
            gone = (first / "policy.yaml").as_uri()
            await until(lambda: not editor.told[gone], "nothing is told of the first folder")
            return editor.told

    assert {d.code for d in asyncio.run(go())[(second / "policy.yaml").as_uri()]} >= {"REF001"}


@pytest.mark.parametrize("watches", [True, False])
def test_a_file_that_another_program_writes(tmp_path, watches):
    """The file is known when the editor tells of it, as it is asked to, and at the latest when a document is saved."""

    async def go():
        async with editing(tmp_path, watches=watches) as editor:
            editor.open("policy.yaml", BOUND)
            await editor.codes("policy.yaml", {"REF003"})
            (tmp_path / "parameters.yaml").write_text(PARAMETERS)
            if watches:
                event = lsp.FileEvent(editor.uri("parameters.yaml"), lsp.FileChangeType.Created)
                editor.client.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams([event]))
            else:
                where = lsp.TextDocumentIdentifier(editor.uri("policy.yaml"))
                editor.client.text_document_did_save(lsp.DidSaveTextDocumentParams(where))
            await until(lambda: not known(editor) & {"REF003"}, "the parameters are known")
            editor.write("policy.yaml", f"# typed\n{BOUND}")
            (tmp_path / "parameters.yaml").unlink()
            if watches:
                event = lsp.FileEvent(editor.uri("parameters.yaml"), lsp.FileChangeType.Deleted)
                editor.client.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams([event]))
                await until(lambda: known(editor) & {"REF003"}, "the parameters are gone")
            return [registration.method for registration in editor.watched]

    assert asyncio.run(go()) == (["workspace/didChangeWatchedFiles"] if watches else [])


def known(editor):
    return {d.code for d in editor.told[editor.uri("policy.yaml")]}


def said(*messages):
    """Send messages to a server, as bytes; gives its answers by their id, and its exit code."""
    bodies = [json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages]
    sent = b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in bodies)
    command = [sys.executable, "-m", "webhook.cli.main", "lsp"]
    done = subprocess.run(command, input=sent, capture_output=True, timeout=120, check=False)
    found = [json.loads(part.partition(b"\r\n\r\n")[2]) for part in done.stdout.split(b"Content-Length: ")[1:]]
    return {message["id"]: message for message in found if "id" in message}, done.returncode


BEGIN = {"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}}


@pytest.mark.parametrize("params", [{"textDocument": 1}, "text", {}])
def test_a_request_that_cannot_be_read_is_answered(params):
    """With the error that JSON-RPC has for it; the server goes on."""
    asked = {"id": 2, "method": "textDocument/hover", "params": params}
    found, code = said(BEGIN, asked, {"id": 3, "method": "shutdown"}, {"method": "exit"})
    assert found[2]["error"]["code"] == -32602
    assert "result" in found[3]
    assert code == 0


def test_the_end_without_a_shutdown():
    """The protocol has exit code 1 for it."""
    assert said(BEGIN, {"method": "exit"})[1] == 1
