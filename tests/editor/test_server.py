"""The server as an editor starts it: over standard input and output."""

import asyncio
import signal

import pytest
from lsprotocol import types as lsp
from pygls.workspace import Workspace

from tests.editor.driver import editing
from tests.editor.marked import MARK, POLICY, placed
from tests.patience import until
from webhook.diagnostics import Diagnostic, Place, Severity
from webhook.editor.server import made

VALID = POLICY.replace("EXPRESSION", "object.spec.containers.all(c, c.image != '')")


def test_findings_come_as_one_types_and_when_a_file_is_saved(tmp_path):
    """A misspelt field is told at its place at once; what only a trial finds is told of the saved file."""

    async def go():
        async with editing(tmp_path) as editor:
            editor.open("policy.yaml", VALID)
            await editor.codes("policy.yaml", set())
            editor.write("policy.yaml", VALID.replace("c.image", "c.imag"))
            typed = await editor.codes("policy.yaml", {"CEL018"})
            editor.write("policy.yaml", VALID.replace("- expression: object", "- expression: [object"))
            broken = await editor.codes("policy.yaml", {"YAML001"})
            return typed, broken

    typed, broken = asyncio.run(go())
    (misspelt,) = [d for d in typed if d.code == "CEL018"]
    line = VALID.splitlines()[misspelt.range.start.line]
    assert line[misspelt.range.start.character :].startswith("image")
    assert "image" in misspelt.message
    assert [d.source for d in broken] == ["sluice"]


def test_what_an_editor_asks(tmp_path):
    """Completion replaces the word, hover says the type, a definition leads to the place, a fix is offered."""
    begun = POLICY.replace("EXPRESSION", f"variables.names.size() > 0 && object.spec.cont{MARK}")
    text = placed(begun)[0]

    async def go():
        async with editing(tmp_path) as editor:
            editor.open("policy.yaml", text)
            where = editor.at("policy.yaml", begun)
            offered = await editor.client.text_document_completion_async(lsp.CompletionParams(*where))
            named = editor.at("policy.yaml", POLICY.replace("EXPRESSION", f"variables.na{MARK}"))
            defined = await editor.client.text_document_definition_async(lsp.DefinitionParams(*named))
            said = await editor.client.text_document_hover_async(lsp.HoverParams(*named))
            return offered, defined, said

    offered, defined, said = asyncio.run(go())
    (item,) = [i for i in offered.items if i.label == "containers"]
    line = text.splitlines()[item.text_edit.range.start.line]
    assert line[item.text_edit.range.start.character :] == "cont"
    assert (item.detail, item.kind) == ("list", lsp.CompletionItemKind.Field)
    assert [place.range.start.line for place in defined] == [text.splitlines().index("  - name: names")]
    assert "names: list(dyn)" in said.contents.value


def test_what_was_not_saved_or_is_gone_is_told_no_more(tmp_path):
    """A document that is closed is as it is on the disk; one that was deleted has no findings."""

    async def go():
        async with editing(tmp_path) as editor:
            editor.open("policy.yaml", VALID)
            editor.open("other.yaml", "a: [")
            await editor.codes("other.yaml", {"YAML001"})
            editor.write("policy.yaml", "a: [")
            await editor.codes("policy.yaml", {"YAML001"})
            (tmp_path / "other.yaml").unlink()
            for name in ("policy.yaml", "other.yaml"):
                where = lsp.TextDocumentIdentifier(editor.uri(name))
                editor.client.text_document_did_close(lsp.DidCloseTextDocumentParams(where))
            await until(
                lambda: not any(d.code == "YAML001" for found in editor.told.values() for d in found), "no findings"
            )

    asyncio.run(go())


def test_findings_of_a_deleted_file_go_when_the_repository_is_linted_again(tmp_path):
    """An editor keeps what it was told last of a file."""
    server, told = made(), {}
    server.protocol._workspace = Workspace(tmp_path.as_uri())
    server.text_document_publish_diagnostics = lambda params: told.update({params.uri: params.diagnostics})
    file = tmp_path / "gone.yaml"
    file.write_text("a: 1\n")
    server.take(tmp_path, [Diagnostic("QUE001", Place("gone.yaml", 1, 1, 1), "wrong", Severity.ERROR)])
    assert len(told[file.as_uri()]) == 1
    file.unlink()
    server.take(tmp_path, [])
    assert told[file.as_uri()] == []


def test_fields_are_offered_on_the_line_behind_the_last_line_end(tmp_path):
    """A file that is written line by line: there is no text at the cursor yet."""
    begun = f"apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\n{MARK}"
    text = placed(begun)[0]

    async def go():
        async with editing(tmp_path) as editor:
            editor.open("policy.yaml", text)
            where = editor.at("policy.yaml", begun)
            return await editor.client.text_document_completion_async(lsp.CompletionParams(*where))

    items = {item.label: item.text_edit.range for item in asyncio.run(go()).items}
    assert {"metadata", "spec"} <= items.keys()
    assert items["spec"] == lsp.Range(lsp.Position(2, 0), lsp.Position(2, 0))


def test_columns_are_counted_as_the_editor_counts(tmp_path):
    """An editor that counts UTF-16 units is told of places behind a character that has two of them."""
    text = VALID.replace("c.image != ''", "c.name != '😀' && c.imag != ''")

    async def go():
        async with editing(tmp_path) as editor:
            editor.open("policy.yaml", text)
            return await editor.codes("policy.yaml", {"CEL018"})

    (found,) = [d for d in asyncio.run(go()) if d.code == "CEL018"]
    line = text.splitlines()[found.range.start.line]
    assert found.range.start.character == line.index("imag !=") + 1


def test_a_finding_is_mended_where_lint_would(tmp_path):
    """What `sluice lint --fix` would write is offered at its place."""
    text = VALID.replace("resources: [pods]", "resources: [pod]")

    async def go():
        async with editing(tmp_path) as editor:
            editor.open("a.yaml", text)
            await editor.codes("a.yaml", {"RCH001"})
            whole = lsp.Range(lsp.Position(0, 0), lsp.Position(1000, 0))
            where = lsp.TextDocumentIdentifier(editor.uri("a.yaml"))
            asked = lsp.CodeActionParams(where, whole, lsp.CodeActionContext([]))
            return await editor.client.text_document_code_action_async(asked), editor.uri("a.yaml")

    (action,), uri = asyncio.run(go())
    (edit,) = action.edit.changes[uri]
    line = text.splitlines()[edit.range.start.line]
    assert (
        line[: edit.range.start.character] + edit.new_text + line[edit.range.end.character :]
        == "      resources: [pods]"
    )
    assert action.title == "Write pods"


@pytest.mark.parametrize("text", ["", "a: [", "- 1\n", "kind: Pod", "\t", "a: &b [*b]\n"])
def test_no_text_ends_the_server(tmp_path, text):
    async def go():
        async with editing(tmp_path) as editor:
            editor.open("a.yaml", text)
            where = lsp.TextDocumentIdentifier(editor.uri("a.yaml")), lsp.Position(0, 0)
            await editor.client.text_document_completion_async(lsp.CompletionParams(*where))
            await editor.client.text_document_definition_async(lsp.DefinitionParams(*where))
            return await editor.client.text_document_hover_async(lsp.HoverParams(*where))

    assert asyncio.run(go()) is None


def test_what_lints_ends_with_the_server(tmp_path, monkeypatch):
    """Else its process would outlive the loop, and the editor's log get a traceback."""
    (tmp_path / "policy.yaml").write_text(VALID)
    begin, begun = asyncio.create_subprocess_exec, []

    async def noted(*command, **options):
        begun.append(await begin(*command, **options))
        return begun[-1]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", noted)

    async def go():
        server = made()
        server.protocol._workspace = Workspace(tmp_path.as_uri())
        server.policies.folders = (tmp_path,)
        server.run = asyncio.create_task(server.lint())
        await until(lambda: begun, "sluice lint runs")
        await server.protocol.fm.features[lsp.SHUTDOWN](None)
        return server.run.cancelled(), begun[0].returncode

    assert asyncio.run(go()) == (True, -signal.SIGKILL)


def test_a_definition_in_a_file_that_has_not_been_read_yet(tmp_path):
    """The answer waits until the repository is read; the document's own findings do not."""
    for number in range(50):
        (tmp_path / f"a{number}.yaml").write_text(VALID.replace("name: images", f"name: images-{number}"))
    (tmp_path / "parameters.yaml").write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: allowed, namespace: default}\n"
    )
    marked = VALID.replace("name: allowed", f"name: allo{MARK}wed")

    async def go():
        async with editing(tmp_path) as editor:
            editor.open("z.yaml", placed(marked)[0])
            where = editor.at("z.yaml", marked)
            return await editor.client.text_document_definition_async(lsp.DefinitionParams(*where))

    (place,) = asyncio.run(go())
    assert place.uri == (tmp_path / "parameters.yaml").as_uri()
