"""The fields of Kueue's Configuration that configure Kueue's own process: they have no effect in Sluice."""

from __future__ import annotations

from typing import Final

_NONE: Final = "Sluice has no such setting"
PROCESS_FIELDS: Final = {
    "webhook": "set listen and certDir of Sluice",
    "leaderElection": "set leaderElection and leaseSeconds of Sluice",
    "health": "set stateListen of Sluice",
    "controller": _NONE,
    "tls": "Sluice accepts TLS 1.2 and newer",
    "clientConnection": "set writesPerSecond of Sluice",
    "internalCertManagement": "set certificateSecret of Sluice",
    "pprofBindAddress": _NONE,
    "visibilityServer": "set visibilityListen of Sluice",
    "gracefulShutDown": "set shutdownDelay of Sluice",
    "syncPeriod": _NONE,
    "cacheNamespace": _NONE,
}
"""Fields of how Kueue runs as a process, and what Sluice has for them."""
