"""What tests of the running process may ask for: its policies; its requests are held against the chart's rights."""

from tests.chart.rights import rights
from tests.daemon.serving import policies

__all__ = ["policies", "rights"]
