"""Manages the ProvisioningRequests of Workloads, their check entries, and the condition `Active` of the checks.

A Workload is processed when it, one of its requests, a check or a configuration changed. If the cluster does not serve
ProvisioningRequests, checks of this kind are inactive.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import msgspec

from webhook.api.snapshot.reader import MALFORMED
from webhook.api.types.provisioning import ProvisioningRequestConfigSpec
from webhook.cluster.api.event_recorder import EventRecorder
from webhook.cluster.api.kinds import ADMISSION_CHECK, FLAVOR, PROVISIONING_CONFIG, PROVISIONING_REQUEST, WORKLOAD
from webhook.cluster.api.leader_writer import LeaderWriter
from webhook.cluster.api.view import View
from webhook.cluster.jobs.workqueue import AFTER_REFUSAL_SECONDS
from webhook.cluster.pace import Slice
from webhook.cluster.provisioning.answers import INACTIVE, NOT_NEEDED, answer, is_over, with_state
from webhook.cluster.provisioning.requests import CONTROLLER, attempt_of, config_of, last, made, owner_reference, wanted
from webhook.cluster.workloads.admission_checks import PENDING, READY, states_of
from webhook.jobs.owners import controller_of
from webhook.kube.condition_types import EVICTED, FINISHED, QUOTA_RESERVED
from webhook.kube.conditions import conditions_of, holds, same, with_condition
from webhook.kube.fields import at
from webhook.kube.gvk import GroupVersionKind
from webhook.store.errors import AlreadyExists, NotFound, Refused, StoreError
from webhook.store.objects import Object, key_of, uid_of

log = logging.getLogger(__name__)

_SHARED: Final = frozenset((g.group, g.kind) for g in (ADMISSION_CHECK, PROVISIONING_CONFIG))
_HEARD: Final = _SHARED | {(g.group, g.kind) for g in (WORKLOAD, PROVISIONING_REQUEST)}


class Provisioner:
    """Processes Workloads with checks of this kind."""

    def __init__(self, view: View, writer: LeaderWriter, events: EventRecorder) -> None:
        self._view, self._writer, self._events = view, writer, events
        self._due: dict[tuple[str, str], None] = {}
        self._all, self._served = True, False

    def heard(self, gvk: GroupVersionKind, old: Object | None, new: Object | None) -> None:
        """Record a change in the view."""
        obj = new if new is not None else old
        if obj is None or (gvk.group, gvk.kind) not in _HEARD:
            return
        if (gvk.group, gvk.kind) in _SHARED:
            self._all = True
        elif gvk.kind == WORKLOAD.kind:
            self._due[key_of(obj)] = None
        elif (owner := controller_of(obj)) is not None:
            self._due[key_of(obj)[0], str(owner.get("name"))] = None

    def look_at_all(self) -> None:
        """Process everything in the next run."""
        self._all = True

    async def run(self) -> None:
        """Process what has changed. Raises NotLeading."""
        served, time_slice = self._view.informer(PROVISIONING_REQUEST).synced.is_set(), Slice()
        if self._all or served != self._served:
            self._all, self._served = False, served
            await self._checks()
            for each in self._view.informer(WORKLOAD).all():
                await time_slice.give_way()
                if self._concerns(each):
                    self._due[key_of(each)] = None
        due, self._due = self._due, {}
        for namespace, name in due:
            await time_slice.give_way()
            workload = self._view.informer(WORKLOAD).get(name, namespace)
            if workload is None or not self._concerns(workload):
                continue
            try:
                await self._look(workload)
            except Refused as error:
                log.error("%s/%s will be retried in %.0f s: %s", namespace, name, AFTER_REFUSAL_SECONDS, error)
                asyncio.get_running_loop().call_later(AFTER_REFUSAL_SECONDS, self._look_again, (namespace, name))
            except StoreError as error:
                log.info("%s/%s will be retried: %s", namespace, name, error)
                self._due[namespace, name] = None
            except MALFORMED as error:
                log.error("%s/%s is malformed and is skipped: %r", namespace, name, error)

    def _look_again(self, key: tuple[str, str]) -> None:
        self._due[key] = None

    def _concerns(self, workload: Object) -> bool:
        return any(self._config(str(row.get("name")))[0] for row in states_of(workload))

    async def _checks(self) -> None:
        """Write the condition `Active` of each check of this kind: whether its configuration can be used."""
        for check in self._view.informer(ADMISSION_CHECK).all():
            mine, config, problem = self._config(key_of(check)[1])
            if not mine:
                continue
            condition = ("BadParametersRef", problem) if config is None else ("Active", "The admission check is active")
            if same(check, "Active", config is not None, *condition):
                continue
            rows = with_condition(conditions_of(check), "Active", config is not None, *condition, self._writer.stamp())
            try:
                await self._writer.status(check, {**(check.get("status") or {}), "conditions": rows})
            except StoreError as error:
                log.info("the status of AdmissionCheck %s is not written: %s", key_of(check)[1], error)
                self._all = True

    def _config(self, check: str) -> tuple[bool, ProvisioningRequestConfigSpec | None, str]:
        """Return whether a check is of this kind, and its configuration, or None and the problem."""
        admission_check = self._view.informer(ADMISSION_CHECK).get(check)
        if admission_check is None or at(admission_check, ("spec", "controllerName")) != CONTROLLER:
            return False, None, ""
        if not self._served:
            return True, None, "the cluster does not serve provisioningrequests.autoscaling.x-k8s.io"
        ref = at(admission_check, ("spec", "parameters")) or {}
        if ref.get("kind") != PROVISIONING_CONFIG.kind or not ref.get("name"):
            return True, None, "spec.parameters names no ProvisioningRequestConfig"
        config = self._view.informer(PROVISIONING_CONFIG).get(str(ref["name"]))
        if config is None:
            return True, None, f'provisioningrequestconfigs.kueue.x-k8s.io "{ref["name"]}" not found'
        try:
            return True, config_of(config), ""
        except msgspec.ValidationError as error:
            return True, None, f"ProvisioningRequestConfig {ref['name']}: {error}"

    async def _look(self, workload: Object) -> None:
        requests = list(self._requests(workload))
        if holds(workload, FINISHED) or holds(workload, EVICTED):
            await self._delete(requests)
            return
        if not holds(workload, QUOTA_RESERVED):
            return
        now, states, keep = self._writer.stamp(), [], []
        for row in states_of(workload):
            name = str(row.get("name"))
            mine, config, _ = self._config(name)
            if not mine:
                states.append(row)
                continue
            request = last(requests, workload, name, config) if config and wanted(workload, config) else None
            keep.append(request)
            states.append(_state(row, request, workload, config, now))
        if states != states_of(workload):
            workload = await self._answer(workload, states)
        await self._delete([r for r in requests if not any(r is kept for kept in keep)])
        for row, request in zip((r for r in states if self._config(str(r.get("name")))[0]), keep, strict=True):
            await self._ask(workload, row, request)

    def _requests(self, workload: Object) -> Iterator[Object]:
        for request in self._view.informer(PROVISIONING_REQUEST).all(key_of(workload)[0]):
            if (controller_of(request) or {}).get("uid") == uid_of(workload):
                yield request

    async def _answer(self, workload: Object, states: list[Object]) -> Object:
        """Write the check entries, and record an Event for each changed state."""
        before = {row.get("name"): row.get("state") for row in states_of(workload)}
        new = await self._writer.status(workload, {**workload["status"], "admissionChecks": states})
        for row in states:
            if (old := before.get(row.get("name"))) != row.get("state"):
                text = f"Admission check {row.get('name')} updated state from {old} to {row.get('state')}"
                text += f" with message: {row['message']}" if row.get("message") else ""
                self._events.tell(workload, "AdmissionCheckUpdated", text)
        return new

    async def _ask(self, workload: Object, row: Object, request: Object | None) -> None:
        """Create the request of the next attempt, if there is none, or the last is over and its entry reset."""
        name = str(row.get("name"))
        _, config, _ = self._config(name)
        if config is None or row.get("state") == READY or not wanted(workload, config):
            return
        attempt = int(row.get("retryCount") or 0) + 1
        if request is not None:
            if not is_over(request, workload) or row.get("state") != PENDING:
                return
            attempt = attempt_of(request, key_of(workload)[1], name) + 1
        flavors = self._view.informer(FLAVOR).by_name()
        new, templates = made(workload, name, attempt, config, flavors)
        try:
            await self._create(new, templates)
        except StoreError as error:
            text = f'Error creating ProvisioningRequest "{key_of(new)[1]}": {error}'
            self._events.tell(workload, "FailedCreate", text, warning=True)
            raise
        self._events.tell(workload, "ProvisioningRequestCreated", f'Created ProvisioningRequest: "{key_of(new)[1]}"')

    async def _create(self, request: Object, templates: list[Object]) -> None:
        """Create the templates before the request, so that it is never seen without them; then make it their owner.

        One of the same name is of the request of an earlier admission, which the garbage collector has not taken away
        yet: it becomes this one's. Raises NotFound where the collector was quicker.
        """
        for template in templates:
            try:
                await self._writer.create(template)
            except AlreadyExists:
                await self._writer.replace(template)
        gvk = self._view.informer(PROVISIONING_REQUEST).gvk
        created = await self._writer.create({**request, "apiVersion": gvk.api_version})
        patch: dict[str, Any] = {"ownerReferences": [owner_reference(created)]}
        for template in templates:
            with suppress(NotFound):
                await self._writer.own(template, patch)

    async def _delete(self, requests: list[Object]) -> None:
        for request in requests:
            if not at(request, ("metadata", "deletionTimestamp")):
                with suppress(NotFound):
                    await self._writer.delete(request)


def _state(
    row: Object, request: Object | None, workload: Object, config: ProvisioningRequestConfigSpec | None, now: str
) -> Object:
    if config is None:
        return with_state(row, PENDING, INACTIVE, now)
    if not wanted(workload, config):
        return row if row.get("state") == READY else {**with_state(row, READY, NOT_NEEDED, now), "podSetUpdates": []}
    return row if request is None else answer(row, request, workload, config, now)
