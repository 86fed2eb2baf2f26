"""What every test folder may ask for: the real control plane (built on first use).

Whoever starts the tests, they listen to Ctrl-C, and what they start does: a shell tells its background jobs not to.
No example fails for being slow: the machine may be busy with other work.
"""

import signal

from hypothesis import HealthCheck, settings

from tests.controlplane.fixtures import control_plane, kube, namespace
from tests.image.fixtures import image

__all__ = ["control_plane", "image", "kube", "namespace"]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
