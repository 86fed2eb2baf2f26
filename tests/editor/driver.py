"""`sluice lsp` as an editor starts it, and an editor that notes what it is told."""

import sys
from contextlib import asynccontextmanager

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from tests.editor.marked import placed
from tests.patience import until


class Editor:
    """An editor with one folder, and what it was told of each file."""

    def __init__(self, client, folder):
        self.client, self.folder, self.told, self.watched = client, folder, {}, []

        @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def heard(params):
            self.told[params.uri] = params.diagnostics

        @client.feature(lsp.CLIENT_REGISTER_CAPABILITY)
        def asked(params):
            self.watched += params.registrations

    def uri(self, name):
        return (self.folder / name).as_uri()

    def open(self, name, text):
        (self.folder / name).write_bytes(text.encode())
        self.show(name, text)

    def show(self, name, text):
        """Open a document whose file is there."""
        item = lsp.TextDocumentItem(self.uri(name), "yaml", 1, text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))

    def write(self, name, text, version=2):
        where = lsp.VersionedTextDocumentIdentifier(version, self.uri(name))
        change = lsp.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(where, [change]))

    async def codes(self, name, wanted):
        def seen():
            return self.uri(name) in self.told and {d.code for d in self.told[self.uri(name)]} >= wanted

        await until(seen, f"{wanted} in {name}")
        return self.told[self.uri(name)]

    def at(self, name, text):
        _, line, column = placed(text)
        return lsp.TextDocumentIdentifier(self.uri(name)), lsp.Position(line - 1, column - 1)


@asynccontextmanager
async def editing(folder, folders=None, *, watches=False):
    """An editor with a folder open; `folders` are those that it names, where others (an old editor names none)."""
    client = LanguageClient("tests", "1")
    editor = Editor(client, folder)
    await client.start_io(sys.executable, "-m", "webhook.cli.main", "lsp")
    try:
        named = [lsp.WorkspaceFolder(place.as_uri(), "repository") for place in folders or [folder]]
        watching = lsp.DidChangeWatchedFilesClientCapabilities(dynamic_registration=watches)
        capabilities = lsp.ClientCapabilities(lsp.WorkspaceClientCapabilities(did_change_watched_files=watching))
        made = lsp.InitializeParams(
            capabilities,
            workspace_folders=None if folders == [] else named,
            process_id=None,
            root_uri=folder.as_uri(),
        )
        await client.initialize_async(made)
        client.initialized(lsp.InitializedParams())
        yield editor
    finally:
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()
