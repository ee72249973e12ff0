# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What is asked of a monitoring server, and what of it cannot be meant or is not safe."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from .._errors import GaudiError
from .._node.certificate_names import canonical, is_address, is_number
from .._node.listening import check_listening, check_port
from .._node.option_forms import check_group, check_place, check_unit
from .._node.tls_identity import Identity, check_names

PRESENT, ABSENT = "present", "absent"
DIRECTORY = "/etc/gaudi3_scale/monitoring"
_TARGET = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9][A-Za-z0-9._-]*):[0-9]{1,5}")
# As the rulebook takes them (extensions/eda/rulebooks/quarantine.yml); in a summary they stand as they are.
_INSTANCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,250}")
_RULES = re.compile(r"gaudi_[a-z0-9_]+\.yml")
_LAST_PORT = 65535
_RETENTION = re.compile(r"[1-9][0-9]*[hdwy]")
# Where the rules that come with the collection say what an alert means: each in a section of its name.
ALERTS_PAGE = "https://github.com/gaudi3-scale/gaudi3.scale/blob/main/docs/alerts.md"
# It goes into YAML and into Prometheus' templates, so nothing that means something there; its section is the alert's.
_PAGE = re.compile(r"https?://[A-Za-z0-9][A-Za-z0-9.:-]*(/[A-Za-z0-9._~%!$&()*+,;=:@/?-]*)?")
# Alertmanager gives what it is told to whoever answers.
_SCHEMES = ("http", "https")

# What may be in units and in commands of root.
FORMS: dict[str, Callable[[str, Any], None]] = {
    **dict.fromkeys(("prometheus_unit", "alertmanager_unit"), check_unit),
    **dict.fromkeys(("prometheus_program", "alertmanager_program"), check_place),
    "group": check_group,
}


@dataclass(frozen=True)
class Webhook:
    """Where alerts are sent. ``token`` is what the receiver wants to hear; empty: nothing."""

    url: str
    token: str = ""


@dataclass(frozen=True)
class Service:
    """One program of the distribution, run with arguments of ours."""

    unit: str
    program: str


@dataclass(frozen=True)
class Options:
    """See the options of the module ``monitoring_server``."""

    state: str
    nodes: Mapping[str, str]
    node_certificates: Mapping[str, str]
    rules: Mapping[str, str]
    retention: str
    address: str
    port: int
    alertmanager_port: int
    all_interfaces: bool
    readers: tuple[str, ...]
    webhooks: tuple[Webhook, ...]
    quarantine: Webhook | None
    names: tuple[str, ...]
    group: str
    prometheus: Service
    alertmanager: Service
    node_names: Mapping[str, Sequence[str]] = field(default_factory=dict)
    vendor_port: int = 0
    alerts_page: str = ""
    root: str = "/"

    @property
    def rule_files(self) -> dict[str, str]:
        """The rules by name, their alerts with the site's own page where it has one."""
        return {
            name: text.replace(ALERTS_PAGE, self.alerts_page) if self.alerts_page else text
            for name, text in self.rules.items()
        }

    @property
    def identity(self) -> Identity:
        return Identity(self.root.rstrip("/") + DIRECTORY, self.names, self.group)


def host_of(target: str) -> str:
    """The name or address in a target; brackets are only for an address of version 6."""
    return target.rpartition(":")[0].strip("[]")


def port_of(target: str) -> int:
    return int(target.rpartition(":")[2])


def check(options: Options) -> None:
    """GaudiError for what is refused, in a sentence that names the option."""
    if options.state == ABSENT:
        return
    check_listening(options.address, options.all_interfaces, options.readers, "each person who may read it")
    _check_nodes(options)
    _check_texts(options)
    _check_ports(options)
    if not 0 <= options.vendor_port <= _LAST_PORT:
        raise GaudiError(
            f"vendor_port is {options.vendor_port}; give the port of the vendor's exporter, or 0 for none."
        )
    if not _RETENTION.fullmatch(options.retention):
        raise GaudiError(f"retention is {options.retention!r:.40}; give a Prometheus duration, such as 30d.")
    if options.alerts_page and not _PAGE.fullmatch(options.alerts_page):
        raise GaudiError(
            f"alerts_page is {options.alerts_page!r:.80}; give the page's address without a section, as "
            "https://ops.example.org/gaudi/alerts.html."
        )
    given = {"quarantine": [options.quarantine] if options.quarantine else [], "webhooks": options.webhooks}
    for name, hooks in given.items():
        for hook in hooks:
            _check_url(name, hook)


def _check_nodes(options: Options) -> None:
    if not options.nodes:
        raise GaudiError("nodes is empty, so there is nothing to watch; give the nodes that monitoring.yml has set up.")
    for name, target in options.nodes.items():
        if not (_INSTANCE.fullmatch(name) or is_address(name)):
            raise GaudiError(
                f"nodes has a node {name!r:.80}; give one of letters, digits, '.', '_' and '-', as in the inventory."
            )
        if not isinstance(target, str) or not _is_target(target):
            raise GaudiError(
                f"nodes has {name!r:.80} at {target!r:.80}; give an address and a port, as 10.0.0.11:9100."
            )
    _refuse_twins(options, {name: canonical(name) for name in options.nodes}, "one name; give each a separate one")
    places = {name: (canonical(host_of(target)), port_of(target)) for name, target in options.nodes.items()}
    _refuse_twins(options, places, "one address; correct ansible_host in the inventory")
    for name, further in options.node_names.items():
        if name not in options.nodes or not (
            isinstance(further, list) and all(isinstance(one, str) for one in further)
        ):
            raise GaudiError(f"node_names has {further!r:.40} for {name!r:.80}; give a list of names for one of nodes.")
        check_names(f"node_names of {name}", further)


def _refuse_twins(options: Options, written: Mapping[str, object], what: str) -> None:
    """``written``: what no two nodes may have, in its one form."""
    count = Counter(written.values())
    twins = sorted(name for name in options.nodes if count[written[name]] > 1)
    if twins:
        raise GaudiError(f"nodes has {' and '.join(twins)} at {what}.")


def _is_target(target: str) -> bool:
    if not _TARGET.fullmatch(target):
        return False
    host = host_of(target)
    is_right = is_address(host) if target.startswith("[") else not is_number(host)
    return is_right and 1 <= port_of(target) <= _LAST_PORT


def _check_ports(options: Options) -> None:
    for name in ("port", "alertmanager_port"):
        check_port(name, getattr(options, name))
    if options.port == options.alertmanager_port:
        raise GaudiError(f"port and alertmanager_port are both {options.port}; give each a separate one.")


def _check_texts(options: Options) -> None:
    for name in options.rules:
        if not _RULES.fullmatch(name):
            raise GaudiError(
                f"rules has a file {name!r:.80}; name it gaudi_NAME.yml, so that the site's own files are left alone."
            )
    for option, texts in (("rules", options.rules), ("node_certificates", options.node_certificates)):
        for name, text in texts.items():
            if not isinstance(text, str):
                raise GaudiError(f"{option} has {text!r:.40} for {name!r:.80}; give it as text.")


def _check_url(option: str, hook: Webhook) -> None:
    parts = urlsplit(hook.url)
    if parts.scheme not in _SCHEMES or not parts.hostname:
        raise GaudiError(f"{option} has the url {hook.url!r:.80}; give http://HOST:PORT/PATH or https://HOST/PATH.")
    if parts.username or parts.password:
        raise GaudiError(f"{option} has credentials in its url; give them as token, which is kept in a separate file.")
    local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if hook.token and parts.scheme == "http" and not local:
        raise GaudiError(f"{option} would send its token to {parts.hostname} over plain http; give an https address.")


def options_from(given: Mapping[str, Any]) -> Options:
    """From the module's own."""
    services = {
        name: Service(given[f"{name}_unit"], given[f"{name}_program"]) for name in ("prometheus", "alertmanager")
    }
    taken = {name: given[name] for name in Options.__dataclass_fields__ if name in given}
    quarantine = Webhook(**given["quarantine"]) if given["quarantine"] else None
    return Options(
        **{
            **taken,
            **services,
            "readers": tuple(given["readers"]),
            "webhooks": tuple(Webhook(**hook) for hook in given["webhooks"]),
            "quarantine": quarantine,
            "names": check_names("names", given["names"]),
        }
    )
