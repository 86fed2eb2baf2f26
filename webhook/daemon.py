"""Sluice as one process: certificate, policies, view, controller and ports, started and stopped in order.

No globals: the configuration, the store and the clocks come in. `make run` and the tests start it over the store in
memory, `sluice serve` over an API server.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import ssl
from collections.abc import Coroutine
from datetime import UTC, datetime
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from prometheus_client import GC_COLLECTOR, PLATFORM_COLLECTOR, PROCESS_COLLECTOR, CollectorRegistry

from webhook import readiness
from webhook.api.conversion.convert import conversion_review
from webhook.certificates.secret import CertificateSecret
from webhook.cluster import front_proxy
from webhook.cluster.api.param_kinds import ParamKinds
from webhook.cluster.api.view import View
from webhook.cluster.clocks import Clocks
from webhook.cluster.core.visibility import PendingWorkloads
from webhook.cluster.front_proxy import FrontProxy
from webhook.cluster.policy_facts import ViewFacts
from webhook.cluster.queues.counts import WorkloadCounts
from webhook.cluster.webhooks.keep_registered import Registered, Release
from webhook.cluster.webhooks.required_webhooks import hooks
from webhook.config import Config, PageMode, queue_settings
from webhook.journal.heading import Decider
from webhook.kube.gvk import GroupVersionKind
from webhook.policy.facts import Check, Decision
from webhook.policy.queue_rules.configured import PUBLISHED, configured, published
from webhook.policy.queue_rules.file_rules import FileRules
from webhook.policy_reload.policies import Policies
from webhook.policy_reload.reload import PolicyFiles
from webhook.record.recorder import Recorder, RecordLimits
from webhook.replica import QueueParts, compares, decides, followed_kinds, make_leader, replica_name
from webhook.server.app import make_app, make_state_app, state_routes
from webhook.server.clients import ClientCheck
from webhook.server.engine import LiveEngine
from webhook.server.health import Health
from webhook.server.listener import Application, Listener
from webhook.server.metrics import ServerMetrics
from webhook.server.policy_measures import PolicyMeasures
from webhook.server.process_metrics import ProcessMetrics, ProcessState
from webhook.server.routes.visibility import VisibilityApp
from webhook.server.self_call import SelfCall
from webhook.setting_values import LOOPBACK, host_and_port
from webhook.store.errors import StoreError
from webhook.store.objects import Object, ObjectStore
from webhook.tls.folder import Folder
from webhook.tls.serving_certificate import ServingCertificate, trust

if TYPE_CHECKING:
    from webhook.cluster.core.queue_core import QueueCore  # see `_make_queue_parts`
    from webhook.dashboard.page import Page  # see `_make_page`
    from webhook.telemetry import Traces  # its libraries are an extra

log = logging.getLogger(__name__)

PARAMETERS_WAIT: Final = 5.0
"""Seconds that a new set of policies waits for its parameters at a time; it tries again at the next look."""


def system_clocks() -> Clocks:
    """Return the clocks of this machine."""
    return Clocks(lambda: datetime.now(UTC), monotonic)


class Daemon:
    """All parts of one replica. `start` opens the ports and gives nothing back; `port` is the one in use."""

    def __init__(
        self,
        config: Config,
        store: ObjectStore,
        clocks: Clocks | None = None,
        *,
        certificates: CertificateSecret | None = None,
        traces: Traces | None = None,
        owners: tuple[Object, ...] = (),
    ) -> None:
        """Load policies and certificate. Raises SourceError, OSError, ValueError, LoaderError; nothing runs yet.

        `certificates` is followed, if given; `traces` is told of reviews and rounds; the lease goes with its `owners`.
        """
        self.config, self._clocks = config, clocks or system_clocks()
        self._certificates, self._traces, self._identity = certificates, traces, replica_name(config)
        self.registry, self.health, self.metrics = CollectorRegistry(), Health(), ServerMetrics()
        self._measures = PolicyMeasures(lambda: self.policies.current.compiled())
        self._rules = configured(config.queues, config.queue_rules)
        self.policies = PolicyFiles(config.policies, self._swap, self._rules, self._lacks)
        self.certificate = ServingCertificate(Folder(config.cert_dir), config.client_ca)
        self._self_call = SelfCall(lambda: trust(Folder(config.cert_dir)))
        self.view = View(store, followed_kinds(config), self._heard)
        self.params = ParamKinds(self.view)
        self._facts = ViewFacts(self.view, self.params, self._clocks.monotonic, queue_settings(config))
        self._leader = make_leader(config, store, self._clocks, self._identity, owners)
        parts = self._make_queue_parts()
        self.core, self.controller, self._journal = parts.core, parts.controller, parts.journal
        self._compared, self.beside_kueue = parts.compared, parts.beside_kueue
        self.engine = LiveEngine(self.policies, self._facts, parts.gate, self._measures.watch)
        self._registered = self._make_registered(store) if config.cluster else None
        self._recorder: Recorder | None = None
        self._listeners: list[Listener] = []
        self._tasks: list[asyncio.Task[None]] = []
        self.port = self.state_port = self.visibility_port = self.ui_port = 0
        self._page = self._make_page() if config.ui is not PageMode.OFF else None
        self._use(self.policies.current)
        self._observe()

    async def start(self) -> None:
        """Open the ports and begin to follow the cluster. Raises OSError where a port cannot be opened."""
        if (folder := self.config.record_folder) is not None:
            self._recorder = Recorder(
                folder, RecordLimits.within(self.config.record_sample, self.config.record_megabytes)
            )
            self.engine.records.append(self._recorder.write)
        if self._traces is not None:
            self.engine.records.append(self._traces.review)
        check = ClientCheck(frozenset(self.config.client_names)) if self.config.client_ca else None
        state = state_routes(self.health, self.registry)
        app = make_app(self.engine, conversion_review, state, self.metrics, check_client=check)
        self.port = await self._listen("--listen", app, self.config.listen, self.certificate.context)
        if self.config.state_listen:
            plain = make_state_app(state, self.metrics)
            self.state_port = await self._listen("--state-listen", plain, self.config.state_listen)
        if self.config.visibility_listen and self.core is not None:
            self.visibility_port = await self._listen_for_users(self.core)
        if self._page is not None:
            self.ui_port = await self._listen_for_readers(self._page)
        self._spawn(self._self_call.follow(host_and_port(self.config.listen)[0], self.port), "call to itself")
        self.view.start()
        self.params.start()
        self._spawn(self._warm(), "warm up")
        self._spawn(self.policies.follow(self.config.reload_seconds), "policy files")
        self._spawn(self.certificate.follow(), "certificate")
        if self._certificates is not None:
            self._spawn(self._certificates.follow(self.certificate.reload), "certificates in the Secret")
        if self._registered is not None:
            self._spawn(self._registered.follow(), "registration")
        if self._leader is not None and self.controller is None:
            self._spawn(self._leader.campaign(), "lease")
        for part in (self.controller, self.beside_kueue):
            if part is not None:
                part.start()
        log.info("serving on port %d, mode %s", self.port, self.config.mode)

    async def stop(self) -> None:
        """Become not ready, finish what is in flight, let go of the lease, end every task.

        `sluice serve` calls it on SIGTERM, and on Ctrl-C.
        """
        self.health.draining = True
        if self._page is not None:
            await self._page.close()
        for listener in self._listeners:
            listener.drain()
        await asyncio.sleep(self.config.shutdown_delay)
        await asyncio.gather(*(listener.stop() for listener in self._listeners))
        for part in (self.controller, self.beside_kueue):
            if part is not None:
                await part.stop()
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._leader is not None and self.controller is None:
            await self._leader.release()
        await self.params.stop()
        await self.view.stop()
        if self._recorder is not None:
            await asyncio.to_thread(self._recorder.close)
        if self._journal is not None:
            await asyncio.to_thread(self._journal.writer.close)
        if self._traces is not None:
            await asyncio.to_thread(self._traces.close)
        log.info("stopped")

    def _make_registered(self, store: ObjectStore) -> Registered:
        config = self.config
        return Registered(
            store,
            Release(config.release, config.namespace),
            lambda: hooks(self.policies.current.lazy.webhooks, gate=decides(config)),
            self._may_register if config.keep_registration else None,
        )

    def _make_queue_parts(self) -> QueueParts:
        """Make what deals with queues. Its modules take 4 MiB and are imported only in a mode that has a use for it."""
        if not (decides(self.config) or compares(self.config)):
            return QueueParts()
        library = importlib.import_module("webhook.queue_parts")
        reporting = library.Reporting(self.registry, self._decider, self._traces)
        rules = self.policies.current.rules
        parts: QueueParts = library.make_queue_parts(
            self.config, self.view, self._clocks, rules, self._leader, reporting
        )
        return parts

    def _may_register(self) -> bool:
        """Return whether this replica is the one that writes what is registered: it leads, or no other is there."""
        if self.controller is not None:
            return self.controller.leads
        return self._leader is None or self._leader.leads

    def _make_page(self) -> Page:
        """Make the page, and let it hear of reviews; where no queues run here it shows the policies alone.

        Its modules take 2 MiB and are imported only here.
        """
        dashboard = importlib.import_module("webhook.dashboard.page")
        config, controller, clocks = self.config, self.controller, self._clocks
        sources = dashboard.Sources(
            core=self.core or self._compared or dashboard.no_queues(self.policies.current.rules),
            view=self.view,
            counts=controller.counts if controller is not None else WorkloadCounts(),
            policies=self.policies,
            rules=self._rules,
            now=clocks.milliseconds,
            leads=lambda: controller is not None and controller.leads,
            records=lambda: controller is None or controller.leads,
            identity=self._identity,
            journal=config.journal_folder if self._journal is not None else None,
            started=clocks.milliseconds(),
            times=self._measures.times,
        )
        login, here = config.ui is PageMode.LOGIN, host_and_port(config.ui_listen)[0] in LOOPBACK
        page: Page = dashboard.Page(
            sources, clocks.monotonic, login=login, plain=here and not login, counts=controller is None
        )
        self.engine.records.append(lambda request, verdict, _, phase: page.reviewed(request, verdict, phase))
        return page

    def _decider(self) -> Decider:
        """Return who decides now, and by what, for the journal."""
        bundle, controller = self.policies.current.bundle, self.controller
        if controller is None:
            return Decider(self._identity, 0, self._rules, bundle.digest)
        return Decider(self._identity, controller.epoch, self._rules, bundle.digest, controller.lease_made)

    def _heard(self, gvk: GroupVersionKind, old: Object | None, new: Object | None) -> None:
        for part in (self.controller, self.beside_kueue, self._page):
            if part is not None:
                part.heard(gvk, old, new)

    async def _lacks(self, policies: Policies) -> str:
        """Return what a set needs to know of the cluster and does not, after some seconds' wait; empty for nothing."""
        kinds = policies.bundle.param_kinds
        self.params.add(kinds)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PARAMETERS_WAIT):
                await self.params.wait(kinds)
        missing = self.params.missing(kinds)
        return f"the parameters are not listed yet: {', '.join(missing)}" if missing else ""

    def _swap(self, policies: Policies) -> None:
        self._use(policies)
        if self._page is not None:
            self._page.swapped(policies)
        if self._registered is not None:
            self._registered.reloaded()

    def _use(self, policies: Policies) -> None:
        """Take a set of policies into force: what they ask of the cluster is followed from now on."""
        self.params.add(policies.bundle.param_kinds)
        self._facts.give(policies.bundle.objects)
        for core in filter(None, (self.core, self._compared)):
            core.use(policies.rules)
        if self.core is not None and self._leader is not None and isinstance(policies.rules, FileRules):
            by = published(self._rules, policies.rules.digest, queue_settings(self.config))
            self._leader.publish({PUBLISHED: by})

    def _observe(self) -> None:
        for collector in (PROCESS_COLLECTOR, PLATFORM_COLLECTOR, GC_COLLECTOR):
            self.registry.register(collector)
        self.registry.register(self.metrics)
        self.registry.register(self._measures)
        self.registry.register(ProcessMetrics(self._state))
        self.health.add("policies", readiness.policies(self.policies))
        self.health.add("certificate", readiness.certificate(self.certificate, self._clocks.now, self._certificates))
        here = f"{self.config.release}.{self.config.namespace}"
        self.health.add(
            "view", readiness.view(self.view, followed_kinds(self.config), self.params, self.policies, here)
        )
        self.health.add("self-call", self._self_call.condition)
        if self._registered is not None:
            self.health.add("registration", readiness.registration(self._registered))

    def _state(self) -> ProcessState:
        files, bundle = self.policies, self.policies.current.bundle
        expires = self.certificate.expires.timestamp()
        recorder, counts = self._recorder, None
        if recorder is not None:
            counts = {"written": recorder.written, "dropped": recorder.dropped, "too_large": recorder.skipped}
        return ProcessState(
            bundle.digest,
            len(bundle.policies),
            files.loads,
            not files.problem,
            expires,
            counts,
            None if self._journal is None else self._journal.writer.counts(),
            None if self._registered is None else self._registered.differs,
        )

    async def _listen(self, option: str, app: Application, address: str, context: ssl.SSLContext | None = None) -> int:
        listener = Listener(app, option, address, context)
        port = await listener.start()
        self._listeners.append(listener)
        return port

    async def _listen_for_readers(self, page: Page) -> int:
        """Open the port of the page. Raises OSError where that cannot be done.

        Without a login nothing secret goes over it, and on this machine no certificate has a name for it.
        """
        address = self.config.ui_listen
        if self.config.ui is PageMode.READ_ONLY and not page.plain:
            log.warning("anyone who can reach %s can see all queues and jobs: use --ui login, or a proxy", address)
        self._spawn(page.follow(), "history of the queues")
        return await self._listen("--ui-listen", page.app, address, None if page.plain else self.certificate.context)

    async def _listen_for_users(self, core: QueueCore) -> int:
        """Open the port of the aggregated API. Raises OSError where that cannot be done."""
        address = self.config.visibility_listen
        try:
            proxy = await front_proxy.read(self.view.store)
            certificate = ServingCertificate(Folder(self.config.cert_dir), proxy.authorities)
        except (StoreError, ValueError) as error:
            raise OSError(f"--visibility-listen {address}: {error}") from None
        check = ClientCheck(proxy.names)

        def use(changed: FrontProxy) -> None:
            certificate.ask_for(changed.authorities)
            check.names = changed.names

        self._spawn(certificate.follow(), "certificate of the visibility API")
        self._spawn(front_proxy.follow(self.view.store, proxy, use), "front proxy of the API server")
        app = VisibilityApp(PendingWorkloads(self.view, core), self._may, check, self.metrics)
        return await self._listen("--visibility-listen", app, address, certificate.context)

    async def _may(self, check: Check) -> bool:
        await self._facts.ask([check])
        return self._facts.authorize(check) is Decision.ALLOWED

    async def _warm(self) -> None:
        await self.view.wait()
        await self.params.wait(self.policies.current.bundle.param_kinds)
        self.engine.warm.set()

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        task.add_done_callback(_complain)
        self._tasks.append(task)


def _complain(task: asyncio.Task[None]) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        if (error := task.exception()) is not None:
            log.error("%s ended: this is a bug in Sluice", task.get_name(), exc_info=error)
