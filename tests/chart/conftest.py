"""The chart with its default values."""

import pytest

from tests.chart.helm import template
from tests.chart.rendered import CHART
from webhook.documents import read


@pytest.fixture(scope="session")
def rendered():
    return [document.value for document in read(template(CHART, "--set=policies.files.a\\.yaml=#"), "chart")]
