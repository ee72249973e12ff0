# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a node that is watched has: our program and its unit, and what is added to the distribution's node exporter."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .._errors import GaudiError
from .._node.listening import check_listening, check_port, place_of
from .._node.rendered_files import WantedFile
from .._node.systemd_units import UNIT_DIRECTORY
from .._node.tls_identity import Identity
from .._node.unit_hardening import ASKS_CARDS, DISTRIBUTIONS_SERVICE, capability_lines
from . import textfile

PROGRAM = "/opt/gaudi3_scale/metrics.pyz"
MODULE = "ansible_collections.gaudi3.scale.plugins.module_utils._exporter.program"
UNIT = "gaudi3-scale-metrics@.service"
CARDS, NODE = "gaudi3-scale-metrics@cards.service", "gaudi3-scale-metrics@node.service"
_ABOUT = {CARDS: textfile.CARDS, NODE: textfile.REST}
PRESENT, ABSENT = "present", "absent"
# Who asks the cards, and who answers a Prometheus.
HL_SMI, VENDOR = "hl_smi", "vendor"
DISTRIBUTION, SITE = "distribution", "site"
DIRECTORY = "/etc/gaudi3_scale/exporter"
READERS = f"{DIRECTORY}/readers.pem"
WEB = f"{DIRECTORY}/web.yml"
DROP_IN = "gaudi3-scale.conf"
# The port of the vendor's exporter (monitoring.md, ME main.go).
VENDOR_PORT = 41611
# It reads as root what accounts of jobs write. Its own memory is some 30 MB; that of hl-smi, its child, is not known.
_LIMITS = ("MemoryMax=1G", "TasksMax=256")
# It reads as an account what is that account's, asks who holds the cards and which recipes are in use, and writes where
# the distribution's exporter reads.
_CAPABILITIES = ("CAP_SETUID", "CAP_SETGID", "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH", "CAP_SYS_PTRACE", "CAP_KILL")
# In check mode, where the server has made none yet.
_TO_COME = "-----BEGIN CERTIFICATE-----"
_HEADING = "# Written by gaudi3.scale; changes made here are lost. Options: roles/gaudi_exporter."


@dataclass(frozen=True)
class Options:
    """See the options of the module ``hpu_exporter``."""

    state: str
    cards: int
    cards_from: str
    interval: int
    hl_smi_seconds: int
    served_by: str
    address: str
    port: int
    all_interfaces: bool
    names: tuple[str, ...]
    readers: tuple[str, ...]
    readers_to_come: tuple[str, ...]
    directory: str
    unit: str
    program: str
    group: str
    arguments_file: str
    port_counters: bool = True
    events: bool = False

    def identity(self, root: str = "/") -> Identity:
        return Identity(str(Path(root, DIRECTORY[1:])), self.names, self.group)

    @property
    def collectors(self) -> Sequence[str]:
        """The units that are to run; the others are to be off."""
        if self.state == ABSENT:
            return ()
        return (CARDS, NODE) if self.cards_from == HL_SMI else (NODE,)

    @property
    def is_served(self) -> bool:
        """Whether the distribution's node exporter is ours to set up."""
        return self.state == PRESENT and self.served_by == DISTRIBUTION


def check(options: Options, check_mode: bool) -> None:
    """GaudiError for what cannot be meant, or is not safe."""
    if options.state == ABSENT:
        return
    for name in ("interval", "hl_smi_seconds"):
        if getattr(options, name) < 1:
            raise GaudiError(f"{name} is {getattr(options, name)}, which is less than a second; give 1 or more.")
    if options.served_by == SITE:
        return
    check_port("port", options.port)
    if options.readers_to_come and not check_mode:
        # Without theirs the file would be written anew, and who has read so far would be turned away.
        servers = ",".join(options.readers_to_come)
        raise GaudiError(
            f"readers_to_come has {servers} (the role's gaudi_exporter_servers), whose certificate this run did not "
            f"read; include it, for example with --limit {options.names[0]},{servers}."
        )
    readers = options.readers or ((_TO_COME,) if options.readers_to_come else ())
    check_listening(options.address, options.all_interfaces, readers, "the server that may read it")


def wanted_metrics(options: Options, root: str = "/") -> list[WantedFile]:
    """What nobody writes any more is to be gone: it would be read, and believed, for ever."""
    paths = (textfile.path_of(options.directory, _ABOUT[unit]) for unit in _ABOUT if unit not in options.collectors)
    return [WantedFile(_below(root, path), None) for path in paths]


def wanted_files(options: Options, root: str = "/") -> list[WantedFile]:
    """All text files; what is not wanted is to be gone. Readers who are yet to come are in a file that nobody knows."""
    unit = Path(root, "etc", UNIT_DIRECTORY, UNIT)
    drop_in = Path(root, "etc", UNIT_DIRECTORY, f"{options.unit}.d", DROP_IN)
    own = _unit(options) if options.state == PRESENT else None
    readers = WantedFile(_below(root, READERS), _readers(options) if options.is_served and options.readers else None)
    return [
        WantedFile(str(unit), own),
        WantedFile(str(drop_in), _drop_in(options) if options.is_served else None),
        WantedFile(_below(root, WEB), _web(options) if options.is_served else None),
        *([] if options.is_served and options.readers_to_come else [readers]),
    ]


def _below(root: str, path: str | Path) -> str:
    return str(Path(root, str(path).lstrip("/")))


def hardening() -> list[str]:
    """What the units of our own program may do."""
    return [*ASKS_CARDS, *capability_lines(_CAPABILITIES)]


def _unit(options: Options) -> str:
    given = {
        "directory": options.directory,
        "cards": options.cards,
        "interval": options.interval,
        "seconds": options.hl_smi_seconds,
    }
    switches = {"port-counters": options.port_counters, "events": options.events}
    on = (f" --{name}" for name, is_on in switches.items() if is_on)
    words = " ".join(f"--{name} {value}" for name, value in given.items()) + "".join(on)
    lines = "\n".join((*hardening(), *_LIMITS))
    # A site's textfiles may lie below /usr.
    written = f"ReadWritePaths=-{options.directory}"
    return f"""{_HEADING}
[Unit]
Description=gaudi3.scale: metrics of this node (%i)

[Service]
ExecStart=/usr/bin/python3 -I {PROGRAM} %i {words}
Restart=always
RestartSec=15
Nice=10
{lines}
{written}

[Install]
WantedBy=multi-user.target
"""


def _drop_in(options: Options) -> str:
    given = [
        f"--web.listen-address={place_of(options.address, options.port)}",
        f"--web.config.file={WEB}",
        f"--collector.textfile.directory={options.directory}",
    ]
    lines = "\n".join(DISTRIBUTIONS_SERVICE)
    return f"""{_HEADING}
[Service]
ExecStart=
ExecStart={options.program} $ARGS {" ".join(given)}
{lines}
"""


def _web(options: Options) -> str:
    """As YAML, of which JSON is a part."""
    own = options.identity()
    tls = {"cert_file": own.certificate, "key_file": own.key, "min_version": "TLS12"}
    if options.readers or options.readers_to_come:
        tls |= {"client_auth_type": "RequireAndVerifyClientCert", "client_ca_file": READERS}
    return f"{_HEADING}\n{json.dumps({'tls_server_config': tls}, indent=2)}\n"


def _readers(options: Options) -> str:
    return "".join(f"{reader.strip()}\n" for reader in options.readers)
