"""Every request of the controller is one that the chart's role grants."""

from tests.chart.rights import rights

__all__ = ["rights"]
