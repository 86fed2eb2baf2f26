"""One configuration from three places: a YAML file, `SLUICE_*` variables, flags; the later wins.

Strict: a field nobody knows is an error at its line, with the nearest known name. Paths are made absolute here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Final, get_type_hints

from webhook import documents, setting_values
from webhook.api.configuration import read as kueue
from webhook.api.configuration.field_readers import Reading
from webhook.api.configuration.sections import QueueSettings
from webhook.diagnostics import Diagnostic, Place, SourceError, did_you_mean
from webhook.documents import Document
from webhook.journal.heading import UserNames
from webhook.policy.loading.shipped import located

PREFIX: Final = "SLUICE_"
REPOSITORY: Final = ".sluice.yaml"
"""The configuration of a repository of policies, in its folder."""
UNKNOWN, WRONG = "CFG001", "CFG002"


class PageMode(StrEnum):
    """Access to the page: off, read-only for every client of its port, or by a token that the API server knows."""

    OFF = "off"
    READ_ONLY = "read-only"
    LOGIN = "login"


class QueueMode(StrEnum):
    """What decides the queues: our own core, a Kueue that runs beside it, or nothing."""

    EMBEDDED = "embedded"
    EXTERNAL = "external"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Config:
    """All settings of `sluice serve`. Durations are in seconds."""

    policies: tuple[Path, ...] = ()
    queue_rules: tuple[str, ...] = ("kueue",)
    """The QueuePolicies in force, by name. Of two with the same rule point the later one wins."""
    listen: str = "127.0.0.1:9443"
    state_listen: str = ""
    """A plain HTTP port for /livez, /readyz and /metrics only; empty: none."""
    visibility_listen: str = ""
    """A TLS port for the aggregated API visibility.kueue.x-k8s.io, which only the API server may ask; empty: none."""
    ui: PageMode = PageMode.OFF
    """Access to the page. With `login`, a user sees what the API server lets them get."""
    ui_listen: str = "127.0.0.1:8090"
    """The page's port: TLS with the server's certificate; plain HTTP if it is read-only and on a loopback address."""
    cert_dir: Path = field(default_factory=lambda: Path("certs/dev"))
    certificate_secret: str = ""
    """The Secret, in Sluice's namespace, of certificates that Sluice makes and rotates; empty: `cert_dir` is filled
    from outside."""
    release: str = "sluice"
    """The name of the Service and of the webhook configurations."""
    keep_registration: bool = False
    """Whether the leader keeps the webhook configurations of the release as the policies in force need them."""
    client_ca: Path | None = None
    """CAs whose clients get verdicts; none: every client of the port."""
    client_names: tuple[str, ...] = ()
    """The common names that get verdicts of those; none: all of them."""
    cluster: bool = True
    """Whether there is an API server; without one, policies see the facts of the files only."""
    kubeconfig: Path | None = None
    context: str = ""
    mode: QueueMode = QueueMode.EMBEDDED
    refuse_impossible: bool = True
    """Whether a job that its queue can never admit is denied; otherwise it is allowed with a warning and waits."""
    namespace: str = "sluice-system"
    """Sluice's namespace, which holds the Lease."""
    namespace_selector: str = ""
    """A label selector, `key=value,...`, of namespaces whose jobs the queues hold; empty: all namespaces."""
    never: tuple[str, ...] = ()
    """Namespaces whose jobs the queues leave alone, besides kube-system and Sluice's own."""
    identity: str = ""
    """This replica's name in the Lease; empty: made of host and process."""
    leader_election: bool = True
    lease_seconds: float = 15.0
    reload_seconds: float = 1.0
    writes_per_second: float = 50.0
    force_delete_after: float = 60.0
    """Seconds until Pods on unreachable nodes are deleted by force, with the gate FailureRecoveryPolicy."""
    shutdown_delay: float = 0.0
    """How long `/readyz` fails before the port closes, so that load balancers notice."""
    record_folder: Path | None = None
    """The folder that reviews are recorded in for `sluice replay`; none: they are not recorded."""
    record_sample: float = 1.0
    """The share of reviews that is recorded, 0 to 1."""
    record_megabytes: float = 256.0
    """Disk space of all recordings, in MiB. The oldest are deleted first."""
    journal_folder: Path | None = None
    """The folder of the journal of decisions, for `sluice journal`; none: no journal."""
    journal_users: UserNames = UserNames.KEEP
    """Whether the journal keeps the names of users, or hashes them."""
    journal_users_key: Path | None = None
    """The file of the key of these hashes; none: `users.key` in the folder of the journal, which is made."""
    journal_days: float = 31.0
    journal_megabytes: float = 1024.0
    """Disk space of the journal, in MiB. The oldest files are deleted first."""
    log_level: str = "info"
    log_format: str = "text"
    traces: bool = False
    """Whether reviews and rounds are traced with OpenTelemetry; its own environment variables name the collector."""
    kueue_config: Path | None = None
    """Kueue's Configuration file to take `queues` from; Sluice's own sections override it."""
    queues: QueueSettings = field(default_factory=QueueSettings)
    """Kueue's features. Only in files: each of its sections is a field of its own there."""


@dataclass(frozen=True, slots=True)
class Range:
    """What a number may be."""

    low: float
    high: float
    unit: str = ""


RANGES: Final = {
    "lease_seconds": Range(1, 3_600, "seconds"),
    "reload_seconds": Range(0.05, 86_400, "seconds"),
    "writes_per_second": Range(0.1, 10_000),
    "force_delete_after": Range(0, 86_400, "seconds"),
    "shutdown_delay": Range(0, 3_600, "seconds"),
    "record_sample": Range(0, 1),
    "record_megabytes": Range(1, 2**20, "MiB"),
    "journal_days": Range(1, 3_650, "days"),
    "journal_megabytes": Range(1, 2**20, "MiB"),
}
LEVELS: Final = ("debug", "info", "warning", "error")
LOG_FORMATS: Final = ("text", "json")
MAY_BE_EMPTY: Final = frozenset({"context", "identity", "state_listen", "visibility_listen"})
NAMES: Final = tuple(setting.name for setting in fields(Config) if setting.name != "queues")
_TYPES: Final = get_type_hints(Config)


def load(
    file: Path | None, environment: Mapping[str, str], flags: Mapping[str, Any], told: list[Diagnostic] | None = None
) -> Config:
    """Put the configuration together. Raises SourceError with everything that is wrong, in all three places.

    `flags` hold only what was given. In the file, names are written as in `Config` or in camelCase. `told` takes
    warnings: fields of Kueue's Configuration that are unknown or without effect.
    """
    findings: list[Diagnostic] = []
    told = [] if told is None else told
    values: dict[str, Any] = {}
    queues: dict[str, Any] = {}
    if file is not None:
        values |= _from_file(file, queues, findings, told)
    values |= _from_environment(environment, findings)
    for name, value in flags.items():
        _take(values, name, value, Diagnostic(WRONG, Place(f"--{name.replace('_', '-')}"), ""), findings)
    if values.get("client_names") and not values.get("client_ca"):
        findings.append(
            Diagnostic(WRONG, Place("clientNames"), "clientNames (--client-names) requires clientCa (--client-ca)")
        )
    base = QueueSettings()
    if (path := values.get("kueue_config")) is not None:
        base = _from_kueue(path, findings, told)
    if findings:
        raise SourceError(findings)
    return _absolute(Config(**values, queues=replace(base, **queues)))


def settings_said(config: Config) -> QueueSettings | None:
    """Return what a configuration says of the queues, its `kueueConfig` included; None where it says nothing."""
    return config.queues if config.queues != QueueSettings() else None


def queue_settings(config: Config) -> QueueSettings:
    """Return Kueue's features with what this process says beside them: its namespace, and its own numbers."""
    return replace(
        config.queues,
        own_namespace=config.namespace,
        left_out=config.never,
        force_delete_after=config.force_delete_after,
    )


def _from_file(
    file: Path, queues: dict[str, Any], findings: list[Diagnostic], told: list[Diagnostic]
) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for document in _only(file, findings):
        if not isinstance(document.value, dict):
            findings.append(document.diagnostic(WRONG, (), "the configuration must be a map"))
            continue
        sections = {key: value for key, value in document.value.items() if key in kueue.SECTIONS}
        reader = Reading(document, strict=True)
        queues |= reader.fields(sections, (), kueue.SECTIONS)
        findings += reader.findings
        told += reader.told
        for key, value in document.value.items():
            if key not in sections:
                _from_key(document, key, value, values, findings)
    return values


def _from_kueue(file: Path, findings: list[Diagnostic], told: list[Diagnostic]) -> QueueSettings:
    settings = QueueSettings()
    for document in _only(file, findings):
        settings, reader = kueue.from_configuration(document)
        findings += reader.findings
        told += reader.told
    return settings


def _only(file: Path, findings: list[Diagnostic]) -> list[Document]:
    """Return the document of a file, none where it is empty. A second one is told: it would change the first."""
    found = _documents(file)
    findings += [document.diagnostic(WRONG, (), "a configuration is one document") for document in found[1:]]
    return found[:1]


def _documents(file: Path) -> list[Document]:
    try:
        text = documents.decode(file.read_bytes(), str(file))
    except OSError as error:
        wrong = Diagnostic("FILE001", Place(str(file)), f"cannot be read: {error.strerror or error}")
        raise SourceError([wrong]) from None
    return documents.read(text, str(file))


def _from_key(document: Document, key: str, value: Any, values: dict[str, Any], findings: list[Diagnostic]) -> None:
    name = _snake(key)
    if name not in NAMES:
        hint = did_you_mean(key, (*NAMES, *map(_camel, NAMES), *kueue.SECTIONS))
        findings.append(document.diagnostic(UNKNOWN, (key,), f'unknown setting "{key}"', key=True, hint=hint))
        return
    _take(values, name, value, document.diagnostic(WRONG, (key,), ""), findings, f"{key}: ")


def _from_environment(environment: Mapping[str, str], findings: list[Diagnostic]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for variable, text in sorted(environment.items()):
        name = variable.removeprefix(PREFIX).lower()
        if variable.startswith(PREFIX) and name in NAMES:
            _take(values, name, text, Diagnostic(WRONG, Place(variable), ""), findings)
    return values


def _take(
    values: dict[str, Any], name: str, value: Any, blame: Diagnostic, findings: list[Diagnostic], written: str = ""
) -> None:
    """Read a setting; `blame` has its place, `written` its name there, empty where the place is the name."""
    try:
        values[name] = typed(name, value)
    except ValueError as error:
        findings.append(replace(blame, message=f"{written}{error}"))


def typed(name: str, value: Any) -> Any:
    """Read a value as the setting's type. Raises ValueError with what is allowed."""
    if name in _ITEMS:
        if not isinstance(value, list | tuple | str):
            raise ValueError(f"{value!r} is not a list of strings")
        items = value.split(":" if name == "policies" else ",") if isinstance(value, str) else value
        return tuple(_ITEMS[name](_text(item)) for item in items)
    if _TYPES[name] is bool:
        return _boolean(value)
    if name in RANGES:
        allowed = RANGES[name]
        return setting_values.number(value, allowed.low, allowed.high, allowed.unit)
    if value == "" and name in MAY_BE_EMPTY:
        return value
    read: Callable[[Any], Any] = _TEXTS.get(name, _text)
    return read(value)


def _text(value: Any) -> str:
    return setting_values.text(str(value) if isinstance(value, Path) else value)


def _path(value: Any) -> Path:
    return Path(_text(value))


def _mode(value: Any) -> QueueMode:
    return QueueMode(_one_of(value, tuple(QueueMode)))


def _page_mode(value: Any) -> PageMode:
    if value is False:  # YAML reads a plain `off` as that
        return PageMode.OFF
    return PageMode(_one_of(value, tuple(PageMode)))


def _user_names(value: Any) -> UserNames:
    return UserNames(_one_of(value, tuple(UserNames)))


def _selector(value: Any) -> str:
    setting_values.labels(value)
    return str(value)


def _one_of(value: Any, known: tuple[str, ...]) -> str:
    if value not in known:
        raise ValueError(f'"{value}" is not one of {", ".join(known)}')
    return str(value)


_ITEMS: Final[Mapping[str, Callable[[str], Any]]] = {
    "policies": located,
    "queue_rules": str,
    "client_names": str,
    "never": setting_values.label,
}
_TEXTS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "listen": setting_values.address,
    "state_listen": setting_values.address,
    "visibility_listen": setting_values.address,
    "cert_dir": _path,
    "client_ca": _path,
    "kubeconfig": _path,
    "record_folder": _path,
    "kueue_config": _path,
    "journal_folder": _path,
    "journal_users": _user_names,
    "journal_users_key": _path,
    "mode": _mode,
    "ui": _page_mode,
    "ui_listen": setting_values.address,
    "namespace": setting_values.label,
    "release": setting_values.label,
    "certificate_secret": setting_values.name,
    "namespace_selector": _selector,
    "log_level": partial(_one_of, known=LEVELS),
    "log_format": partial(_one_of, known=LOG_FORMATS),
}


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if str(value).lower() in ("true", "1", "yes"):
        return True
    if str(value).lower() in ("false", "0", "no"):
        return False
    raise ValueError(f'"{value}" is not true or false')


def _absolute(config: Config) -> Config:
    paths: dict[str, Any] = {
        name: value.absolute() for name in NAMES if isinstance(value := getattr(config, name), Path)
    }
    return replace(config, policies=tuple(path.absolute() for path in config.policies), **paths)


def _snake(text: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in text)


def _camel(text: str) -> str:
    first, *rest = text.split("_")
    return first + "".join(word.capitalize() for word in rest)
