"""The fixture `image`: the image's content, built once for what the sources are now."""

import os

import pytest

from tests.image.build import Image, built
from tests.shared import ROOT


@pytest.fixture(scope="session")
def image() -> Image:
    """The image in `build/image`, without machine code unless `SLUICE_IMAGE_COMPILED` is set (two minutes more)."""
    if not (ROOT / "webhook").exists():
        pytest.skip("only the wheel is here, not its sources")
    return built(ROOT / "build" / "image", {"COMPILED": "true" if os.environ.get("SLUICE_IMAGE_COMPILED") else "false"})
