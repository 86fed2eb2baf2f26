"""`python -m tests.load.account --kubeconfig FILE OUT`: a kubeconfig with the chart's rights on an API server.

The runner hands its administrator's kubeconfig to whom it starts; Sluice is to run with what the chart gives it.
"""

import argparse
import asyncio
from pathlib import Path
from time import monotonic
from typing import Any

import yaml

from tests.e2e import rights
from webhook.cluster.api.client import Client, Pace
from webhook.cluster.api.live_store import LiveStore


async def token(kubeconfig: Path) -> str:
    """Create the accounts and roles of the chart; give a token of Sluice's."""
    client = await Client.connect(kubeconfig, None, Pace(100, 100, 30.0), monotonic)
    try:
        for obj in rights.rendered():
            await LiveStore(client).create(obj)
        found = await client.request("POST", rights.token_path("sluice"), body=rights.TOKEN_REQUEST)
    finally:
        await client.close()
    return str(found["status"]["token"])


def main() -> None:
    """Write the kubeconfig."""
    parser = argparse.ArgumentParser(prog="python -m tests.load.account", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    config: dict[str, Any] = yaml.safe_load(given.kubeconfig.read_text())
    (user,) = config["users"]
    user["user"] = {"token": asyncio.run(token(given.kubeconfig))}
    given.out.write_text(yaml.safe_dump(config))
    given.out.chmod(0o600)


if __name__ == "__main__":
    main()
