# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The files of a monitoring server, as text: what Prometheus and Alertmanager read, and how systemd starts them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from .._job.paths import NAME
from .._node.listening import place_of
from .._node.rendered_files import WantedFile
from .._node.systemd_units import UNIT_DIRECTORY
from .._node.unit_hardening import DISTRIBUTIONS_SERVICE
from .._serving.instance import NAME as SERVING
from .options import DIRECTORY, PRESENT, Options, Service, Webhook

HEADING = "# Written by gaudi3.scale; changes made here are lost. Options: roles/gaudi_monitoring."
DROP_IN = "gaudi3-scale.conf"
# What an alert has that asks for its node to be taken out of service (extensions/eda/rulebooks/quarantine.yml).
QUARANTINE = "quarantine"
JOB = "gaudi"
# By node, so that a run over some of them forgets no other.
CERTIFICATES = "certificates.json"
NODES = "nodes.json"
# What the node exporter could not do without: neither service tells of the node that it runs on.
_OWN = ("ProtectHome=yes", "PrivateTmp=yes", "ProtectClock=yes")
# What certificates were last held against.
NAMES = "names.json"
ALERTMANAGER, ALERTMANAGER_WEB = "alertmanager.yml", "alertmanager_web.yml"
# For a person who is root, or of the group: amtool --http.config.file.
AMTOOL = "amtool.yml"
NOBODY, SITE = "nobody", "site"
# With the collectors' own, an alert's 15 s and _WAIT, what breaks is told in a minute: benchmarks/watching.py.
_INTERVAL = "10s"
# From an alert to its message: what comes at the same time is one.
_WAIT = "5s"
# In one message to the rulebook, all of one node and one name.
_MOST_ALERTS = 10
# A node tells what it likes, and one that was taken over is not to take the others' alerts with it. Labels that a rule
# gives would make two of its alerts one, at which Prometheus gives up the rule for all nodes; names with a colon are
# those of rules, and the others are Prometheus' own. What is told as a job or a
# serving goes into commands that people are given.
_OWN_LABELS = "severity|gaudi_action|alertname|alertstate"
_RELABELLED = [
    {"source_labels": ["__name__"], "regex": "up|ALERTS.*|scrape_.*|.*:.*", "action": "drop"},
    {"source_labels": ["training"], "regex": f"({NAME.pattern})?", "action": "keep"},
    {"source_labels": ["serving"], "regex": f"({SERVING.pattern})?", "action": "keep"},
    {"regex": _OWN_LABELS, "action": "labeldrop"},
]
# A node of 8 cards and 160 threads has some thousand series, of labels that are shorter than a line.
_LIMITS = {
    "body_size_limit": "16MB",
    "sample_limit": 50_000,
    "label_limit": 40,
    "label_name_length_limit": 200,
    "label_value_length_limit": 1024,
}


def wanted_files(options: Options, certificates: Mapping[str, str], kept_rules: Sequence[str]) -> list[WantedFile]:
    """All files that may be shown. ``certificates`` are the nodes' that are known, by name; ``kept_rules`` the names of
    the rules that are there, of which some may go."""
    is_present = options.state == PRESENT
    texts = {
        "prometheus.yml": _prometheus(options),
        NODES: nodes_text(options),
        NAMES: names_text(options),
        "nodes.pem": "".join(f"{one.strip()}\n" for one in certificates.values()),
        CERTIFICATES: json.dumps(certificates, indent=1, sort_keys=True) + "\n",
        "web.yml": _web(options),
        "readers.pem": "".join(f"{one.strip()}\n" for one in options.readers) or None,
        ALERTMANAGER_WEB: _alertmanager_web(),
        # amtool looks for what has no whole path beside the directory of its file.
        AMTOOL: _yaml({"tls_config": _as_prometheus(options, DIRECTORY)}),
        **{f"rules/{name}": None for name in kept_rules},
        **{f"rules/{name}": text for name, text in options.rule_files.items()},
    }
    place = Path(options.root, DIRECTORY[1:])
    own = [WantedFile(str(place / name), text if is_present else None) for name, text in texts.items()]
    return [*own, *(_drop_in(options, service) for service in (options.prometheus, options.alertmanager))]


def token_file(options: Options, number: int) -> str:
    """Where the token of a webhook is; the one of the quarantine has the number 0."""
    return str(Path(options.root, DIRECTORY[1:], "tokens", str(number)))


def hooks_of(options: Options) -> list[tuple[int, Webhook]]:
    """Each webhook with its number."""
    quarantine = [(0, options.quarantine)] if options.quarantine else []
    return [*quarantine, *enumerate(options.webhooks, start=1)]


def _prometheus(options: Options) -> str:
    tls = {"ca_file": "nodes.pem", "cert_file": "certificate.pem", "key_file": "key.pem", "min_version": "TLS12"}
    document = {
        "global": {"scrape_interval": _INTERVAL, "scrape_timeout": _INTERVAL, "evaluation_interval": _INTERVAL},
        "rule_files": ["rules/*.yml"],
        "alerting": {
            "alertmanagers": [
                {
                    "scheme": "https",
                    "tls_config": _as_prometheus(options),
                    "static_configs": [{"targets": [_alertmanager_place(options)]}],
                }
            ]
        },
        "scrape_configs": [
            {
                "job_name": JOB,
                "scheme": "https",
                "tls_config": tls,
                "file_sd_configs": [{"files": [NODES]}],
                "metric_relabel_configs": _RELABELLED,
                **_LIMITS,
            },
            *([_vendor(options.vendor_port)] if options.vendor_port else []),
        ],
    }
    return _yaml(document)


def _vendor(port: int) -> dict[str, object]:
    """The vendor's exporter beside each node's own: it takes one question in 5 s, and each costs it up to 3 s.

    Labels that change with firmware or driver would begin each series anew. Its accelerator_* have other units than
    their names say.
    """
    return {
        "job_name": f"{JOB}_vendor",
        "scrape_interval": "30s",
        "scrape_timeout": _INTERVAL,
        "file_sd_configs": [{"files": [NODES]}],
        "relabel_configs": [
            {
                "source_labels": ["__address__"],
                "regex": "(.*):[0-9]+",
                "target_label": "__address__",
                "replacement": f"$1:{port}",
            }
        ],
        "metric_relabel_configs": [
            {"source_labels": ["__name__"], "regex": "habanalabs_.*", "action": "keep"},
            # The rules make a card of its serial number.
            {
                "regex": f"UUID|device|id|fit|spi|driver|pod_namespace|pod_name|card|{_OWN_LABELS}",
                "action": "labeldrop",
            },
        ],
        **_LIMITS,
    }


def _alertmanager_place(options: Options) -> str:
    """Nobody but this machine may ask it."""
    return f"127.0.0.1:{options.alertmanager_port}"


def _as_prometheus(options: Options, place: str = "") -> dict[str, str]:
    """How Alertmanager is asked: by Prometheus' own certificate, which it shows as well. Files are below ``place``."""
    own = str(Path(place, "certificate.pem"))
    named = {"ca_file": own, "cert_file": own, "key_file": str(Path(place, "key.pem"))}
    return {**named, "server_name": options.names[0]}


def _alertmanager_web() -> str:
    """An alert takes a node out of service, so no other account of the machine may send one."""
    own = {"cert_file": "certificate.pem", "key_file": "key.pem", "min_version": "TLS12"}
    callers = {"client_auth_type": "RequireAndVerifyClientCert", "client_ca_file": "certificate.pem"}
    return _yaml({"tls_server_config": {**own, **callers}})


def nodes_text(options: Options) -> str:
    """The node's name in the inventory is its instance, so that it is one word in an alert, a playbook and a page."""
    found = [{"targets": [target], "labels": {"instance": name}} for name, target in options.nodes.items()]
    return json.dumps(found, indent=1) + "\n"


def names_text(options: Options) -> str:
    """By which names each node is known, all that a certificate may have."""
    known = {name: [target, *options.node_names.get(name, ())] for name, target in options.nodes.items()}
    return json.dumps(known, indent=1) + "\n"


def _web(options: Options) -> str:
    tls: dict[str, object] = {"cert_file": "certificate.pem", "key_file": "key.pem", "min_version": "TLS12"}
    if options.readers:
        tls |= {"client_auth_type": "RequireAndVerifyClientCert", "client_ca_file": "readers.pem"}
    return _yaml({"tls_server_config": tls})


def alertmanager(options: Options) -> str:
    """To the site's webhooks all alerts, and to the quarantine those that ask for it. Without any, Alertmanager's own
    page has them."""
    receivers: list[dict[str, object]] = [
        {"name": NOBODY},
        {"name": SITE, "webhook_configs": [_hook(n, one) for n, one in hooks_of(options) if n]},
    ]
    routes: list[dict[str, object]] = [{"receiver": SITE}] if options.webhooks else []
    if options.quarantine:
        receivers.append(
            {"name": QUARANTINE, "webhook_configs": [{**_hook(0, options.quarantine), "max_alerts": _MOST_ALERTS}]}
        )
        routes.insert(
            0,
            {
                "receiver": QUARANTINE,
                "matchers": [f'gaudi_action="{QUARANTINE}"'],
                "continue": True,
                # A node that tells thousands of cards which are cold is taken out by one message, and floods nobody.
                "group_by": ["instance", "alertname"],
            },
        )
    route = {
        "receiver": NOBODY,
        "group_by": ["alertname"],
        "group_wait": _WAIT,
        "group_interval": "1m",
        "repeat_interval": "4h",
        "routes": routes,
    }
    return _yaml({"route": route, "receivers": receivers})


def _hook(number: int, webhook: Webhook) -> dict[str, object]:
    credentials = {"authorization": {"credentials_file": f"tokens/{number}"}} if webhook.token else {}
    return {"url": webhook.url, "send_resolved": True, "http_config": credentials}


def arguments(options: Options, service: Service) -> list[str]:
    """Beside those that the site has given in the distribution's own file."""
    if service == options.prometheus:
        return [
            f"--config.file={DIRECTORY}/prometheus.yml",
            f"--web.config.file={DIRECTORY}/web.yml",
            f"--web.listen-address={place_of(options.address, options.port)}",
            f"--storage.tsdb.retention.time={options.retention}",
        ]
    return [
        f"--config.file={DIRECTORY}/{ALERTMANAGER}",
        f"--web.config.file={DIRECTORY}/{ALERTMANAGER_WEB}",
        f"--web.listen-address=127.0.0.1:{options.alertmanager_port}",
        # It would wait for others of its kind at all addresses.
        "--cluster.listen-address=",
    ]


def hardening() -> list[str]:
    """What the two services may do."""
    return [*DISTRIBUTIONS_SERVICE, *_OWN]


def _drop_in(options: Options, service: Service) -> WantedFile:
    path = Path(options.root, "etc", UNIT_DIRECTORY, f"{service.unit}.d", DROP_IN)
    given = " ".join(arguments(options, service))
    lines = ["[Service]", "ExecStart=", f"ExecStart={service.program} $ARGS {given}", *hardening()]
    text = "\n".join([HEADING, *lines, ""])
    return WantedFile(str(path), text if options.state == PRESENT else None)


def _yaml(document: object) -> str:
    """JSON is a part of it, and needs no library on the server."""
    return f"{HEADING}\n{json.dumps(document, indent=2)}\n"
