"""What policies are evaluated on: the object of a review, or its pod templates, each of which stands in as a Pod.

So a policy on Pods is evaluated inside every job kind, and what it changes is put back at the template's place. Where a
kind has its templates stands in `webhook/jobs/kinds.py`; `webhook/jobs/read_job.py` finds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from webhook.documents import Path
from webhook.jobs.normalise import normalise, replace_at
from webhook.jobs.read_job import Templates, templates

EMPTY: dict[str, Any] = {}


class EvaluationTarget:
    """What a policy is evaluated on: the object itself (`path` None), or a template inside it as a Pod.

    `writable` is False for templates that are made up from other fields.
    """

    __slots__ = ("object", "old", "path", "template", "writable")

    # No data class: in the compiled wheel too its constructor would be Python code, and each policy needs one.
    def __init__(
        self,
        path: Path | None,
        writable: bool,
        obj: dict[str, Any] | None,
        old: dict[str, Any] | None,
        template: dict[str, Any] | None = None,
    ) -> None:
        self.path, self.writable, self.object, self.old, self.template = path, writable, obj, old, template

    def moved(self, obj: Any) -> EvaluationTarget:
        """Return the same place in an object that came of a change; this very target where its template is the same."""
        if not self.writable or self.path is None:
            return self
        template = find(obj, self.path)
        return (
            self
            if template is self.template
            else EvaluationTarget(self.path, True, as_pod(template), self.old, template)
        )

    def changed(self, pod: dict[str, Any]) -> EvaluationTarget:
        """Return the same place with metadata and spec of a changed Pod; this very target where it has both already."""
        before, template = self.object, self.template
        if before is None or template is None:
            return self
        after = template
        for field in ("metadata", "spec"):
            if field in pod and pod[field] is not before.get(field):
                after = {**after, field: pod[field]}
        return self if after is template else EvaluationTarget(self.path, True, as_pod(after), self.old, after)


class Targets:
    """The `object` of a review as it is now, which is replaced, never changed; the `old` one; and their pod templates.

    `found` are the templates of the object's spec where they are known. `whole` is the object for policies that are
    evaluated on it as it stands; `templates` are its pod templates, None where `pod_templates` must look them up.
    """

    __slots__ = ("_found", "_found_in", "_last", "object", "old", "templates", "whole")

    def __init__(self, obj: dict[str, Any] | None, old: dict[str, Any] | None, found: Templates | None = None) -> None:
        self.object, self.old = obj, old
        self._found, self._found_in = found, None if found is None else obj
        self.whole = (EvaluationTarget(None, True, obj, old),)
        self.templates: list[EvaluationTarget] | None = None
        self._last: list[EvaluationTarget] = []

    def normalised(self, after: dict[str, Any]) -> dict[str, Any]:
        """Return what is to replace the object with the quantities of its templates as strings."""
        found, known = self._templates_of(after), {id(target.template) for target in self._last}
        if found is not None and all(id(template) in known for _, template, _ in found):
            return after
        return normalise(after, found)

    def pod_templates(self) -> Sequence[EvaluationTarget]:
        """Return every pod template of the job as the object has it now; the old object's at the same path beside it.

        They are looked up again where the spec as a whole was changed: a policy may have added one. A target stays the
        same for as long as its template does.
        """
        if self.templates is None:
            obj = self.object
            found = None if obj is None else self._templates_of(obj)
            known = {target.path: target for target in self._last if target.writable}
            self._last = self.templates = [
                known[one[0]].moved(obj) if one[0] in known else target_at(obj, self.old, *one) for one in found or ()
            ]
        return self.templates

    def put_back(self, target: EvaluationTarget, after: dict[str, Any]) -> dict[str, Any] | None:
        """Write a target that was mutated into the object; return what later policies see at that place."""
        before = self.object
        if target.path is None:
            self.templates = None
            if self._found_in is before and before is not None and after.get("spec") is before.get("spec"):
                self._found_in = after
            self._replace(after)
            return after
        changed = target.changed(after)
        if changed is not target:
            obj = replace_at(before, target.path, changed.template)
            self._found_in = obj if self._found_in is before else None
            self._replace(obj)
            self.templates = self._last = [changed if one is target else one for one in self._last]
        return changed.object

    def _templates_of(self, obj: dict[str, Any]) -> Templates | None:
        if self._found_in is not obj:
            self._found, self._found_in = templates(obj), obj
        return self._found

    def _replace(self, obj: dict[str, Any]) -> None:
        self.object, self.whole = obj, (EvaluationTarget(None, True, obj, self.old),)


def target_at(obj: Any, old: Any, path: Path, template: dict[str, Any], made: bool) -> EvaluationTarget:
    """Return a template at a path of an object, the old object's beside it; one that is `made` up has no place."""
    if made:
        return EvaluationTarget(path, False, as_pod(template), None, template)
    template = find(obj, path)
    return EvaluationTarget(path, True, as_pod(template), None if old is None else as_pod(find(old, path)), template)


def as_pod(template: Any) -> dict[str, Any] | None:
    """Make a Pod of a template; metadata and spec are shared, not copied."""
    if not isinstance(template, dict):
        return None
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": template.get("metadata") or EMPTY,
        "spec": template.get("spec") or EMPTY,
    }


def find(obj: Any, path: Path) -> Any:
    """Return the value at a path, None where it is not there."""
    for step in path:
        try:
            obj = obj[step]
        except (KeyError, IndexError, TypeError):
            return None
    return obj
