"""`python -m tests.faults.skewed RATE AHEAD serve ...`: Sluice on a machine whose clock runs RATE times too fast.

Its date is AHEAD seconds off. Both clocks of the daemon are replaced, nothing else.
"""

import sys
from datetime import UTC, datetime, timedelta
from time import monotonic

from webhook import daemon
from webhook.cli.main import main
from webhook.cluster.controller import Clocks


def skewed(rate: float, ahead: float) -> Clocks:
    """Clocks that are wrong."""
    return Clocks(lambda: datetime.now(UTC) + timedelta(seconds=ahead), lambda: monotonic() * rate)


if __name__ == "__main__":
    rate, ahead = (float(text) for text in sys.argv[1:3])
    daemon.system_clocks = lambda: skewed(rate, ahead)
    sys.argv[1:3] = []
    main()
