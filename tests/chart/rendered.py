"""What the chart renders, as objects, and as the configuration that `serve` reads."""

import json

from tests.chart.helm import template
from tests.shared import ROOT
from webhook.config import load
from webhook.documents import read

CHART = ROOT / "charts" / "sluice"


def values():
    (document,) = read((CHART / "values.yaml").read_text())
    return document.value


def schema():
    return json.loads((CHART / "values.schema.json").read_text())


def configuration_of(folder, *arguments):
    """What `serve` reads of the ConfigMap that the chart renders."""
    return read_by_serve(folder, of_kind("ConfigMap", *arguments))


def read_by_serve(folder, objects):
    """What `serve` reads of the ConfigMap among these objects, whose files are put into `folder`."""
    (configuration,) = [o for o in objects if (o["kind"], o["metadata"]["name"]) == ("ConfigMap", "sluice")]
    place = folder / "configuration"
    place.mkdir(exist_ok=True)
    for name, text in configuration["data"].items():
        (place / name).write_text(text.replace("/etc/sluice/configuration", str(place)))
    return load(place / "sluice.yaml", {}, {})


def of_kind(kind, *arguments):
    """The objects of a kind that the chart renders."""
    return [d.value for d in read(template(CHART, *arguments), "chart") if d.value and d.value["kind"] == kind]
