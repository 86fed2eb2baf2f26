"""`sluice lsp`: the Language Server Protocol over standard input and output. All that is said is decided elsewhere.

While a person types, a file is looked at by itself (`findings.py`). When it is opened or saved, `sluice lint` is run
over the whole repository, so that what the editor shows then is what a pull request will be told.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import orjson
from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path

from webhook import __version__
from webhook.diagnostics import Diagnostic, Place, Severity
from webhook.editor.completion import complete
from webhook.editor.cursor import Spot, spot_at
from webhook.editor.definition import definitions
from webhook.editor.findings import findings_of, prepare, stays
from webhook.editor.hover import hover
from webhook.editor.members import Sort
from webhook.editor.protocol import AnsweringProtocol, path_of
from webhook.editor.workspace import Workspace, saved
from webhook.offline.lint.apply_rules import replacement
from webhook.offline.lint.context import Edit

log = logging.getLogger(__name__)
WATCHED: Final = "**/*.{yaml,yml,json}"
"""Files whose changes outside the editor are told."""
PAUSE: Final = 0.15
"""Seconds without a keystroke after which a file is looked at."""
BEHIND: Final = 10
"""Niceness of the `sluice lint` that runs beside."""
_SEVERITIES: Final = {
    Severity.ERROR: lsp.DiagnosticSeverity.Error,
    Severity.WARNING: lsp.DiagnosticSeverity.Warning,
    Severity.NOTE: lsp.DiagnosticSeverity.Information,
}
_SORTS: Final = {
    Sort.FIELD: lsp.CompletionItemKind.Field,
    Sort.VARIABLE: lsp.CompletionItemKind.Variable,
    Sort.FUNCTION: lsp.CompletionItemKind.Function,
    Sort.MACRO: lsp.CompletionItemKind.Keyword,
    Sort.WORD: lsp.CompletionItemKind.Value,
}


class EditorServer(LanguageServer):
    """The server with what it knows: the repository, and what the last `sluice lint` found in each file."""

    def __init__(self) -> None:
        super().__init__("sluice", __version__, protocol_cls=AnsweringProtocol)
        self.policies = Workspace()
        self.uris: dict[Path, str] = {}
        """Of each file, by its path without links, the name that the editor has for it."""
        self.roots: dict[Path, str] = {}
        self.linted: dict[Path, tuple[Diagnostic, ...]] = {}
        self.pauses: dict[str, asyncio.Task[None]] = {}
        self.run: asyncio.Task[None] | None = None
        self.read = asyncio.Event()
        self.shut = False
        self.exit_code = 0

    async def enter(self) -> None:
        """Read the folders that the editor has open now, and forget the files of folders that it closed."""
        folders = [folder.uri for folder in self.workspace.folders.values()]
        root = self.workspace.root_uri
        self.roots = {path_of(uri): uri for uri in folders or ([root] if root else [])}
        self.policies.folders = tuple(self.roots)
        held = self.held()
        for path in {*self.policies.files, *self.linted} - held.keys():
            if not any(path.is_relative_to(folder) for folder in self.roots):
                self.policies.files.pop(path, None)
                self.linted.pop(path, None)
                self.publish(self.uri(path), ())
        await self.load()

    def held(self) -> dict[Path, str]:
        """Return the documents that are open in the editor, by their files."""
        return {path_of(document.uri): document.uri for document in self.workspace.text_documents.values()}

    def uri(self, path: Path) -> str:
        """Return what the editor calls a file: as it opened it, else below the folder as it named that."""
        if path not in self.uris:
            found = (root for root in self.roots if path.is_relative_to(root))
            root = max(found, key=lambda root: len(root.parts), default=None)
            below = f"{self.roots[root].rstrip('/')}/{quote(path.relative_to(root).as_posix())}" if root else None
            self.uris[path] = below or str(from_fs_path(str(path)))
        return self.uris[path]

    async def load(self) -> None:
        """Read the folders, a file at a time: what an editor asks meanwhile is answered."""
        try:
            for _ in self.policies.load():
                await asyncio.sleep(0)
        finally:
            self.read.set()
        gc.freeze()
        for uri in self.held().values():
            self.look(uri)

    def written(self, uri: str) -> Path:
        """Take what the editor has of a document, and give its file."""
        path = path_of(uri)
        self.policies.write(path, self.workspace.get_text_document(uri).source)
        return path

    def spot(self, uri: str, position: lsp.Position) -> tuple[Path, Spot | None]:
        """Return where a position is."""
        path = self.written(uri)
        return path, spot_at(self.policies.files[path].documents, *self.place(uri, position))

    def place(self, uri: str, position: lsp.Position) -> tuple[int, int]:
        """Return a position as line and column from 1, in characters."""
        document = self.workspace.get_text_document(uri)
        lines = [*document.lines, ""]  # an editor counts the line behind the last line's end too
        inside = document.position_codec.position_from_client_units(lines, position)
        return inside.line + 1, inside.character + 1

    def look(self, uri: str) -> None:
        """Publish what is wrong with a document as it is written."""
        path = self.written(uri)
        report = findings_of(self.policies, path, datetime.now(UTC))
        kept = tuple(finding for finding in self.linted.get(path, ()) if stays(finding))
        self.publish(uri, (*report.findings, *kept))

    def forget_if_gone(self, uri: str) -> bool:
        """Read a document from the disk that the editor does not hold; return whether it is not there any more."""
        path = path_of(uri)
        self.policies.reread(path)
        if path in self.policies.files:
            return False
        self.linted.pop(path, None)
        self.publish(uri, ())
        return True

    async def look_later(self, uri: str) -> None:
        """Look at a document when the person pauses."""
        await asyncio.sleep(PAUSE)
        self.look(uri)

    def publish(self, uri: str, findings: Iterable[Diagnostic]) -> None:
        """Tell the editor the findings of a document."""
        lines = self.lines(uri)
        told = [self.told(lines, finding) for finding in findings]
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, told))

    def told(self, lines: list[str], finding: Diagnostic) -> lsp.Diagnostic:
        """Return a finding in these lines as the protocol has it."""
        return lsp.Diagnostic(
            self.range(lines, finding.place),
            f"{finding.message}\n{finding.hint}" if finding.hint else finding.message,
            severity=_SEVERITIES[finding.severity],
            code=finding.code,
            source="sluice",
        )

    def range(self, lines: list[str], place: Place) -> lsp.Range:
        """Return a place in these lines as the protocol has it, in the units of the editor."""
        start = lsp.Position(max(place.line - 1, 0), max(place.column - 1, 0))
        end = lsp.Position(start.line, start.character + max(place.length, 1))
        return self.workspace.position_codec.range_to_client_units(lines, lsp.Range(start, end))

    async def lint(self) -> None:
        """Run `sluice lint` over the folders, and publish what it finds in each file."""
        await self.refresh()
        for folder in self.policies.folders:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "webhook.cli.main", "lint", "-o", "json", "."),
                cwd=folder,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            if hasattr(os, "setpriority"):  # what a person types comes first
                os.setpriority(os.PRIO_PROCESS, process.pid, BEHIND)
            try:
                out, complaint = await process.communicate()
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()
            try:
                rows = orjson.loads(out)["findings"]
            except (orjson.JSONDecodeError, KeyError):
                log.warning("sluice lint failed in %s: %s", folder, complaint.decode(errors="replace").strip())
                continue
            self.take(folder, [_finding(row) for row in rows])

    async def refresh(self) -> None:
        """Read what other programs wrote; where that is something, the open documents are looked at again."""
        self.policies.read_settings()
        changed = False
        for path, differs in self.policies.refresh(self.held()):
            changed |= differs
            if differs and path not in self.policies.files:
                self.forget_if_gone(self.uri(path))
            await asyncio.sleep(0)
        for uri in self.held().values() if changed else ():
            self.look(uri)

    def take(self, folder: Path, findings: list[Diagnostic]) -> None:
        """Publish findings of saved files; a document that was changed since keeps what it was told last."""
        by_file: dict[Path, list[Diagnostic]] = {path: [] for path in self.linted}
        for finding in findings:
            by_file.setdefault((folder / finding.place.file).resolve(), []).append(finding)
        held = self.held()
        for path, found in by_file.items():
            uri = self.uri(path)
            if not path.is_file() and path not in held:
                self.forget_if_gone(uri)
                continue
            self.linted[path] = tuple(found)
            if path.is_file() and saved(path) == self.source(uri):
                self.publish(uri, found)

    def lines(self, uri: str) -> list[str]:
        """Return the lines of `source`, with their ends."""
        return self.source(uri).splitlines(keepends=True)

    def source(self, uri: str) -> str:
        """Return the text of a document: the editor's, else the file's; without a byte order mark."""
        path = path_of(uri)
        document = self.held().get(path)
        return saved(path) if document is None else self.workspace.get_text_document(document).source.lstrip("\ufeff")


def _finding(row: dict[str, Any]) -> Diagnostic:
    place = Place(row["file"], row.get("line", 0), row.get("column", 0), row.get("length", 0))
    return Diagnostic(row["code"], place, row["message"], Severity(row["severity"]), "", row.get("hint", ""))


def _resolved(place: Place) -> Path:
    return Path(place.file).resolve()


def made() -> EditorServer:
    """Make the server, with all that it answers."""
    server = EditorServer()
    prepare(datetime.now(UTC))
    gc.freeze()  # a collection that visits all schemas and documents takes as long as an editor may wait
    _live(server)
    _follow(server)
    _complete(server)
    _tell(server)
    return server


def _follow(server: EditorServer) -> None:
    """Let it hear of what is opened, changed, saved and closed."""

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        server.uris[path_of(params.text_document.uri)] = params.text_document.uri
        server.look(params.text_document.uri)
        await _lint(server)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        server.written(uri)
        if (before := server.pauses.get(uri)) is not None:
            before.cancel()
        server.pauses[uri] = asyncio.create_task(server.look_later(uri))

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    async def written(_: lsp.DidSaveTextDocumentParams) -> None:
        await _lint(server)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        if (before := server.pauses.pop(uri, None)) is not None:
            before.cancel()
        if not server.forget_if_gone(uri):  # what was typed may not have been saved
            server.look(uri)


def _live(server: EditorServer) -> None:
    """Let it hear of its begin and end, and of folders and files that come and go."""

    @server.feature(lsp.INITIALIZED)
    async def initialized(_: lsp.InitializedParams) -> None:
        _watch(server)
        await server.enter()

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def entered(_: lsp.DidChangeWorkspaceFoldersParams) -> None:
        await server.enter()
        await _lint(server)

    @server.feature(lsp.SHUTDOWN)
    async def ended(_: None) -> None:
        server.shut = True
        if server.run is not None:  # its process would outlive the loop
            server.run.cancel()
            await asyncio.gather(server.run, return_exceptions=True)

    @server.feature(lsp.EXIT)
    def left(_: None) -> None:
        server.exit_code = 0 if server.shut else 1

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def moved(_: lsp.DidChangeWatchedFilesParams) -> None:
        await _lint(server)


def _watch(server: EditorServer) -> None:
    """Ask the editor to tell of files that other programs write, where it can."""
    workspace = server.client_capabilities.workspace
    watched = workspace.did_change_watched_files if workspace is not None else None
    if watched is None or not watched.dynamic_registration:
        return
    options = lsp.DidChangeWatchedFilesRegistrationOptions([lsp.FileSystemWatcher(WATCHED)])
    asked = lsp.Registration("files", lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
    server.client_register_capability(lsp.RegistrationParams([asked]))


def _complete(server: EditorServer) -> None:
    """Let it offer what can be written at a place."""

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=[".", "?", "{", " "]))
    def completed(params: lsp.CompletionParams) -> lsp.CompletionList:
        uri = params.text_document.uri
        path = server.written(uri)
        found = complete(server.policies, path, *server.place(uri, params.position))
        start = lsp.Position(params.position.line, params.position.character - found.typed)
        where = lsp.Range(start, params.position)
        items = [
            lsp.CompletionItem(
                name.name,
                kind=_SORTS[name.sort],
                detail=name.detail or None,
                documentation=name.about or None,
                sort_text=f"{name.sort:d}{name.name}",
                text_edit=lsp.TextEdit(where, name.name + found.after),
            )
            for name in found.names
        ]
        return lsp.CompletionList(is_incomplete=False, items=items)


def _tell(server: EditorServer) -> None:
    """Let it answer what stands at a place, where that is written, and how it is mended."""

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hovered(params: lsp.HoverParams) -> lsp.Hover | None:
        path, spot = server.spot(params.text_document.uri, params.position)
        text = hover(spot, server.policies.around(path)) if spot is not None else ""
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text)) if text else None

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    async def defined(params: lsp.DefinitionParams) -> list[lsp.Location]:
        await server.read.wait()
        path, spot = server.spot(params.text_document.uri, params.position)
        places = definitions(server.policies, path, spot) if spot is not None else []
        found = [(server.uri(_resolved(place)), place) for place in places]
        return [lsp.Location(uri, server.range(server.lines(uri), place)) for uri, place in found]

    @server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix]))
    def actions(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        uri = params.text_document.uri
        path = server.written(uri)
        report = findings_of(server.policies, path, datetime.now(UTC))
        return [action for edit in report.edits if (action := _action(server, uri, edit, params.range)) is not None]


async def _lint(server: EditorServer) -> None:
    """Run `sluice lint` once more, after a run that is under way."""
    if server.run is not None and not server.run.done():
        server.run.cancel()
    server.run = asyncio.create_task(server.lint())


def _action(server: EditorServer, uri: str, edit: Edit, asked: lsp.Range) -> lsp.CodeAction | None:
    """Offer the edit that mends a finding in a range."""
    change = replacement(edit)
    if change is None:
        return None
    where = server.range(server.lines(uri), Place("", change.line, change.start, change.end - change.start))
    if where.end < asked.start or asked.end < where.start:
        return None
    text = lsp.TextEdit(where, change.text)
    return lsp.CodeAction(
        f"Write {change.text}", kind=lsp.CodeActionKind.QuickFix, edit=lsp.WorkspaceEdit(changes={uri: [text]})
    )
