"""The manifests of the five articles, by article and by object."""

from pathlib import Path
from typing import Any

from webhook.documents import read

HERE = Path(__file__).parent
ARTICLES = ("000", "001", "002", "003", "004")


def manifests(article: str) -> list[dict[str, Any]]:
    """Every manifest of an article, in its order."""
    (path,) = HERE.glob(f"{article}-*.yaml")
    return [document.value for document in read(path.read_text(encoding="utf-8"), path.name)]
