"""What the parts of the controller share: view, writer, Events and clocks."""

from __future__ import annotations

from dataclasses import dataclass

from webhook.cluster.api.event_recorder import EventRecorder
from webhook.cluster.api.leader_writer import LeaderWriter
from webhook.cluster.api.view import View
from webhook.cluster.clocks import Clocks


@dataclass(frozen=True, slots=True)
class ControllerContext:
    """View, writer, Event recorder and clocks."""

    view: View
    writer: LeaderWriter
    events: EventRecorder
    clocks: Clocks
