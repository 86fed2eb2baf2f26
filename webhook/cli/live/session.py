"""What the commands against a live cluster share: options, the namespace, a list of a kind, and how they end."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from webhook.api.crds.kinds import OLD
from webhook.cli import exits
from webhook.cli.option_types import LABEL
from webhook.cluster.api.kinds import VERSIONS
from webhook.cluster.api.kubeconfig import default_namespace
from webhook.diagnostics import SourceError
from webhook.kube.gvk import GroupVersionKind
from webhook.kube.well_known import KUEUE
from webhook.store.errors import StoreError
from webhook.store.objects import ALL, Labels, Object, ObjectStore

T = TypeVar("T")


namespace_option: Final = click.option("-n", "--namespace", type=LABEL, help="Namespace.  [default: the context's]")


def ask(command: str, do: Callable[[Any], Awaitable[T]], kubeconfig: Path | None, context: str | None) -> T:
    """Return what `do` finds in the cluster, which it gets as a LiveStore; what goes wrong there ends the command.

    The Kubernetes client is loaded for that alone: it takes half a second.
    """
    library = importlib.import_module("webhook.cli.live.connection")
    try:
        found: T = library.with_store(do, kubeconfig, context)
    except BrokenPipeError:  # `do` printed, and the reader of the output is gone
        raise
    except (StoreError, SourceError, ValueError, OSError) as error:
        click.echo(f"sluice {command}: {error}", err=True)
        sys.exit(exits.BAD_INPUT)
    return found


def namespace_of(kubeconfig: Path | None, context: str | None) -> str:
    """Return the namespace of the kubeconfig's context, as kubectl would use it; `default` where it names none."""
    try:
        return default_namespace(kubeconfig, context)
    except (ValueError, OSError):
        return "default"  # what is wrong with the file is told when it is connected by


async def listed(
    store: ObjectStore, gvk: GroupVersionKind, namespace: str | None = None, labels: Labels = ALL
) -> list[Object]:
    """List objects of a kind with their apiVersion and kind; none where the cluster does not serve it."""
    found = await served(store, gvk)
    if found is None:
        return []
    head: dict[str, Any] = {"apiVersion": found.api_version, "kind": found.kind}
    return [{**head, **item} for item in (await store.list(found, namespace, labels)).items]


async def served(store: ObjectStore, gvk: GroupVersionKind) -> GroupVersionKind | None:
    """Return a kind in the first version that the cluster serves; None where it serves none.

    A Kueue before 0.15 serves its kinds in the older version only.
    """
    versions = (gvk.version, OLD) if gvk.group == KUEUE else (gvk.version,)
    for version in VERSIONS.get((gvk.group, gvk.kind), versions):
        found = GroupVersionKind(gvk.group, version, gvk.kind)
        if await store.scope(found) is not None:
            return found
    return None
