# Copyright 2026 The gaudi3.scale authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to gaudi3.scale: it may change in any release.
"""Whether the hosts that a job was given can be meant; pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._awx_job import slice_refusal

SUPERVISED = "torchrun"
# As `options_check` takes them.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "hosts": {"type": "list", "elements": "str", "required": True},
    "spares": {"type": "list", "elements": "str", "default": []},
    "witness": {"type": "str", "default": ""},
    "engine": {"type": "str", "default": SUPERVISED},
    "option": {"type": "str", "default": "hosts"},
}
# Variables that the inventory plugins of AWS and of NetBox give each host, by which their hosts are known; those of AWS
# also with the prefix that they have in inventories/aws_dl1.
_TOLD_BY_A_SOURCE = (
    {"ami_launch_index", "instance_id"},
    {"aws_ami_launch_index", "aws_instance_id"},
    {"device_types", "is_virtual"},
)


@dataclass(frozen=True)
class JobHosts:
    """The hosts of a job in the order of their ranks, spares, and the witness; ``option`` is what names ``hosts``."""

    hosts: Sequence[str]
    spares: Sequence[str] = ()
    witness: str = ""
    engine: str = SUPERVISED
    option: str = "hosts"

    @property
    def nodes(self) -> list[str]:
        """All that may have ranks."""
        return [*self.hosts, *self.spares]


def check(given: Mapping[str, Any], variables: Mapping[str, Any]) -> list[str]:
    """The hosts; raises GaudiError where they cannot be meant in the play of a task that has these ``variables``."""
    job, inventory = JobHosts(**given), variables["groups"]["all"]
    said = slice_refusal(variables) or refusal(job, inventory, variables["ansible_play_hosts_all"])
    said = said or order_refusal(job, inventory, {host: variables["hostvars"][host] for host in job.hosts})
    if said:
        raise GaudiError(said)
    return list(job.hosts)


def refusal(job: JobHosts, inventory: Collection[str], play: Collection[str]) -> str:
    """A sentence that says what is wrong with ``job`` and what to do, or nothing.

    Ranks come from the list, never from the hosts that a ``--limit`` leaves: those would be numbered anew. ``play`` are
    all hosts of the play, those that have failed among them.
    """
    return next(_refusals(job, inventory, play), "")


def order_refusal(job: JobHosts, listed: Sequence[str], variables: Mapping[str, Collection[str]]) -> str:
    """A sentence where ranks would follow the order in which a cloud has told its servers, which is another one each
    time; else nothing. ``listed``: the inventory's own order; ``variables``: host -> the names of its variables.
    """
    as_told = [host for host in listed if host in job.hosts]
    if list(job.hosts) != as_told or list(job.hosts) == sorted(job.hosts):
        return ""
    if not any(all(names <= {*variables.get(host, ())} for host in job.hosts) for names in _TOLD_BY_A_SOURCE):
        return ""
    return (
        f"{job.option} is in the order in which the cloud returned its servers, and ranks would change with that "
        "order; sort it, as inventories/aws_dl1/group_vars/gaudi.yml does, or list the hosts."
    )


def _refusals(job: JobHosts, inventory: Collection[str], play: Collection[str]) -> Iterator[str]:
    if not job.hosts:
        yield f"{job.option} is empty; name the hosts in the order of their ranks."
    unknown = [host for host in job.nodes if host not in inventory]
    if unknown:
        yield (
            f"{job.option} names {', '.join(unknown)}, which is not in the inventory; correct the name, or add "
            "the host."
        )
    if job.engine != SUPERVISED and job.spares:
        yield f"gaudi_training_spares are for gaudi_training_engine torchrun, not {job.engine}; leave them out."
    if len(set(job.hosts)) < len(job.hosts):
        yield f"{job.option} ({', '.join(job.hosts)}) names a host twice; name each host once."
    if len(set(job.nodes)) < len(job.nodes):
        yield (
            f"gaudi_training_spares ({', '.join(job.spares)}) names a host twice, or one of {job.option}; "
            "name each host once."
        )
    if job.engine != SUPERVISED and job.witness:
        yield f"gaudi_training_witness is for gaudi_training_engine torchrun, not {job.engine}; leave it out."
    if job.witness in job.nodes:
        yield (
            f"gaudi_training_witness {job.witness} is one of {job.option} or gaudi_training_spares; name a host that "
            "runs nothing of the job, or leave it out."
        )
    if job.witness and job.witness not in play:
        yield (
            f"gaudi_training_witness {job.witness} is not in this play; name a host of the inventory, with -e where it "
            "is not of gaudi_hosts, and run it without --limit."
        )
    absent = [host for host in job.nodes if host not in play]
    if absent:
        yield (
            f"{', '.join(absent)} of {job.option} not in this play; run it without --limit, or set it to those you "
            "want."
        )
