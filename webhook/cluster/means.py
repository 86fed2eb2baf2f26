"""What the parts of the controller work with: the view, the one writer, Events, and the time."""

from __future__ import annotations

from dataclasses import dataclass

from webhook.cluster.api.event_recorder import EventRecorder
from webhook.cluster.api.view import View
from webhook.cluster.api.writer import LeaderWriter
from webhook.cluster.clocks import Clocks


@dataclass(frozen=True, slots=True)
class Means:
    """What is seen, by what is written and told, and by which time."""

    view: View
    writer: LeaderWriter
    events: EventRecorder
    clocks: Clocks
