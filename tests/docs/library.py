"""The page of the library's policies, from the files in `policies/library`."""

from webhook.offline.scaffold.library import LibraryPolicy, library

HEAD = """\
# Library of policies

Policies to choose from, each with its suite. None is in force by itself: `sluice add NAME` copies one into your
repository ([how](../how-to/library.md)). All but the queue rules are native files: `kubectl apply` installs them too,
without what Sluice adds for job templates. This page is generated from the files by `python -m tests.docs.reference`.
"""
PARTS = (
    ("validates", "Policies that refuse or warn"),
    ("mutates", "Policies that change"),
    ("queue rule", "Queue rules"),
)


def page() -> str:
    """The page: a table for each kind, a line for each policy."""
    policies = library()
    parts = [HEAD]
    for kind, title in PARTS:
        rows = [_row(policy) for policy in policies if policy.kind == kind]
        parts.append(f"## {title}\n\n| policy | what it does |\n|---|---|\n{''.join(rows)}")
    return "\n".join(parts)


def _row(policy: LibraryPolicy) -> str:
    return f"| [`{policy.name}`](../../policies/library/{policy.name}/policy.yaml) | {policy.docs} |\n"
