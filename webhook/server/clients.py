"""Who may ask for verdicts, where clients are asked for a certificate: the TLS layer has verified what they show."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web

from webhook.server.responses import StatusError


@dataclass(slots=True)
class ClientCheck:
    """The common names that are let in; with none, every certificate of the authorities is. They may be replaced."""

    names: frozenset[str] = frozenset()

    def __call__(self, request: web.BaseRequest) -> None:
        """Refuse a client that shows no certificate, or that of another. Raises StatusError: 401 or 403."""
        transport = request.transport
        shown = transport.get_extra_info("peercert") if transport is not None else None
        if not shown:
            raise StatusError("a client certificate is required: see --client-ca of sluice serve", 401, "unauthorized")
        names = [value for part in shown.get("subject", ()) for key, value in part if key == "commonName"]
        if self.names and not self.names.intersection(names):
            told = ", ".join(f'"{name}"' for name in names) or "nobody"
            raise StatusError(
                f"the client certificate of {told} is not allowed: see --client-names of sluice serve",
                403,
                "unauthorized",
            )
