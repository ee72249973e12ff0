# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Where a site has its Slurm: units as `systemctl show` prints them, and directories as sites have them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils._slurm.commands import call_slurm
from ansible_collections.gaudi3.scale.plugins.module_utils._slurm.site import SlurmSite, find_site
from ansible_collections.gaudi3.scale.plugins.module_utils._slurm.state import Options, apply
from ansible_collections.gaudi3.scale.plugins.module_utils._slurm.units import Daemon, read_daemons
from ansible_collections.gaudi3.scale.tests.unit.plugins.module_utils._slurm.test_fragments import BOUND

# As systemd 252 prints it.
EXEC = "ExecStart={{ path={program} ; argv[]={words} ; ignore_errors=no ; start_time=[n/a] ; pid=0 ; status=0/0 }}"


def shown(words: str, *further: str) -> str:
    return "\n".join([EXEC.format(program=words.split()[0], words=words), *further]) + "\n"


class Units:
    """A systemd that has these units; ``programs`` are on the search path, or only where ``PATH`` says."""

    def __init__(self, *, programs: Sequence[str] = (), below: str = "", needs: str = "", **units: str) -> None:
        self.units, self.programs, self.below, self.needs = units, programs, below, needs
        self.calls: list[tuple[list[str], dict[str, str]]] = []

    def __call__(
        self, argv: Sequence[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> CommandResult:
        if argv[0] == "systemctl":
            name = argv[2].removesuffix(".service")
            return CommandResult(0, self.units.get(name, "ExecStart=\nEnvironment=\n"), "")
        around = dict(env or {})
        self.calls.append((list(argv), around))
        if argv[0] not in self.programs and not (self.below and self.below in around.get("PATH", "").split(":")):
            return CommandResult(127, "", f"{argv[0]}: not installed")
        if self.needs and around.get("SLURM_CONF") != self.needs:
            return CommandResult(1, "", f"{argv[0]}: fatal: Could not establish a configuration source\n")
        return CommandResult(0, "well", "")


def opt_slurm(root: Path) -> Path:
    """AWS ParallelCluster and builds from source: all of it below one directory."""
    home = root / "opt/slurm"
    for place in ("etc", "sbin", "bin"):
        (home / place).mkdir(parents=True)
    (root / "etc").mkdir(exist_ok=True)
    for file in ("etc/slurm.conf", "etc/gres.conf", "sbin/slurmd", "bin/scontrol"):
        (home / file).write_text("")
    return home


def site(root: Path, *, etc: bool = True, **more: Any) -> SlurmSite:
    if etc:
        (root / "etc").mkdir(exist_ok=True)
    options = {name: more.pop(name) for name in ("configuration", "programs_directory") if name in more}
    if "programs_directory" in options:
        options["programs"] = options.pop("programs_directory")
    return find_site(Units(**more), str(root / "etc"), **options)


@pytest.mark.parametrize(
    ("printed", "daemon"),
    [
        (shown("/usr/sbin/slurmd -D -s"), Daemon("/usr/sbin/slurmd")),
        (
            shown("/opt/slurm/sbin/slurmd -D -s -f /shared/slurm.conf"),
            Daemon("/opt/slurm/sbin/slurmd", "/shared/slurm.conf"),
        ),
        (shown("/usr/sbin/slurmd -Df/shared/slurm.conf"), Daemon("/usr/sbin/slurmd", "/shared/slurm.conf")),
        (
            shown("/usr/sbin/slurmd -D -N gaudi-07 -L /var/log/f"),
            Daemon("/usr/sbin/slurmd", node="gaudi-07"),
        ),
        (
            shown(
                "/opt/slurm/sbin/slurmd -D $SLURMD_OPTIONS",
                'Environment=SLURM_CONF=/a.conf "SLURMD_OPTIONS=-f /b.conf -N n1"',
            ),
            Daemon("/opt/slurm/sbin/slurmd", "/b.conf", "n1"),
        ),
        (
            shown("/usr/sbin/slurmd -D --conf-server=head:6817"),
            Daemon("/usr/sbin/slurmd", controller="head:6817"),
        ),
        (shown("/usr/bin/env SLURM_X=1 /opt/slurm/sbin/slurmd ${NONE}"), Daemon("/opt/slurm/sbin/slurmd")),
        (shown("/bin/true"), None),
        ("ExecStart=\n", None),
    ],
)
def test_a_unit_s_command_line_tells_program_configuration_and_name(printed: str, daemon: Daemon | None) -> None:
    found = read_daemons(Units(slurmd=printed)).get("slurmd")
    assert found == daemon


def test_the_files_of_a_unit_s_environment_are_read_and_win(tmp_path: Path) -> None:
    file = tmp_path / "slurmd"
    file.write_text(
        "# options\nSLURM_CONF=/from/file.conf\nexport OTHER='a b'\nSLURMD_OPTIONS=\"-N n7 --conf-server head\"\n"
    )
    printed = shown(
        "/usr/sbin/slurmd -D $SLURMD_OPTIONS",
        "Environment=SLURM_CONF=/from/unit.conf",
        f"EnvironmentFiles={file} (ignore_errors=yes)",
        "EnvironmentFiles=/etc/none (ignore_errors=yes)",
    )
    assert read_daemons(Units(slurmd=printed))["slurmd"] == Daemon("/usr/sbin/slurmd", "/from/file.conf", "n7", "head")


def test_slurm_below_opt_is_found_with_a_unit_and_without(tmp_path: Path) -> None:
    home = opt_slurm(tmp_path)
    for units in ({}, {"slurmd": shown(f"{home}/sbin/slurmd -D")}, {"slurmctld": shown(f"{home}/sbin/slurmctld -D")}):
        found = site(tmp_path, **units)
        assert found.configuration == str(home / "etc/slurm.conf")
        assert found.directories == (str(home / "sbin"), str(home / "bin"))
        assert found.environment["PATH"].startswith(f"{home}/sbin:{home}/bin:")
        assert "SLURM_CONF" not in found.environment


def test_a_distribution_s_slurm_needs_nothing_around_its_programs(tmp_path: Path) -> None:
    (tmp_path / "etc/slurm").mkdir(parents=True)
    (tmp_path / "etc/slurm/slurm.conf").write_text("")
    found = site(tmp_path, slurmd=shown("/usr/sbin/slurmd -D -s"))
    assert (found.configuration, found.environment) == (str(tmp_path / "etc/slurm/slurm.conf"), {})


def test_what_the_environment_of_the_unit_names_counts_over_the_usual_places(tmp_path: Path) -> None:
    opt_slurm(tmp_path)
    shared = tmp_path / "shared.conf"
    shared.write_text("")
    found = site(tmp_path, slurmd=shown("/usr/sbin/slurmd -D", f"Environment=SLURM_CONF={shared}"))
    assert found.configuration == str(shared)
    assert found.environment == {"SLURM_CONF": str(shared)}
    shared.unlink()
    with pytest.raises(GaudiError, match=r"The unit of slurmd names .*shared.conf, and there is no such file"):
        site(tmp_path, slurmd=shown("/usr/sbin/slurmd -D", f"Environment=SLURM_CONF={shared}"))


@pytest.mark.parametrize(
    "cache", ["var/spool/slurmd/conf-cache", "var/spool/slurm/gaudi-07/conf-cache", "run/slurm/conf"]
)
def test_a_copy_of_the_controller_s_configuration_is_not_the_host_s_own(cache: str, tmp_path: Path) -> None:
    copy = tmp_path / cache / "slurm.conf"
    copy.parent.mkdir(parents=True)
    copy.write_text("")
    found = site(tmp_path, slurmd=shown("/usr/sbin/slurmd -D", f"Environment=SLURM_CONF={copy}"))
    assert (found.configuration, found.environment) == ("", {"SLURM_CONF": str(copy)})
    (tmp_path / "etc/slurm").mkdir(parents=True)
    (tmp_path / "etc/slurm/slurm.conf").symlink_to(copy)
    assert site(tmp_path, slurmd=shown("/usr/sbin/slurmd -D")).configuration == ""


def test_a_slurmd_that_asks_its_controller_reads_no_file_that_lies_about(tmp_path: Path) -> None:
    opt_slurm(tmp_path)
    unit = shown(f"{tmp_path}/opt/slurm/sbin/slurmd -D --conf-server head:6817 -N queue1-st-gaudi-1")
    found = site(tmp_path, slurmd=unit)
    assert (found.configuration, found.node) == ("", "queue1-st-gaudi-1")
    result = apply(Options((BOUND,), "gaudi07", "1.24.1", 8), Units(slurmd=unit), False, str(tmp_path / "etc"))
    assert result["configless"]
    text = (tmp_path / "etc/gaudi3_scale/slurm_health_check").read_text()
    assert f"--setenv=PATH={tmp_path}/opt/slurm/sbin:{tmp_path}/opt/slurm/bin:/usr/sbin:" in text


def test_two_files_that_could_be_meant_are_refused_and_an_option_decides(tmp_path: Path) -> None:
    home = opt_slurm(tmp_path)
    (tmp_path / "etc/slurm").mkdir(parents=True)
    other = tmp_path / "etc/slurm/slurm.conf"
    other.write_text("")
    with pytest.raises(
        GaudiError,
        match=r"There are .*/opt/slurm/etc/slurm.conf and .*/etc/slurm/slurm.conf.*gaudi_slurm_configuration",
    ):
        site(tmp_path)
    assert site(tmp_path, configuration=str(other)).configuration == str(other)
    other.unlink()
    other.symlink_to(home / "etc/slurm.conf")
    assert site(tmp_path).configuration == str(home / "etc/slurm.conf")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"configuration": "/none/slurm.conf"},
            "gaudi_slurm_configuration is /none/slurm.conf, and there is no such file",
        ),
        ({"programs_directory": "/none/bin"}, "gaudi_slurm_programs is /none/bin, which is not a directory"),
    ],
)
def test_an_option_that_names_nothing_is_refused(given: dict[str, str], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(GaudiError, match=re.escape(sentence)):
        site(tmp_path, **given)


def test_programs_of_an_option_come_first(tmp_path: Path) -> None:
    opt_slurm(tmp_path)
    own = tmp_path / "own/bin"
    own.mkdir(parents=True)
    assert site(tmp_path, programs_directory=str(own)).directories == (str(own),)


def test_a_program_that_no_path_has_is_called_beside_the_unit_s(tmp_path: Path) -> None:
    home = opt_slurm(tmp_path)
    units = Units(below=str(home / "bin"), slurmd=shown(f"{home}/sbin/slurmd -D"))
    assert call_slurm(["squeue", "--all"], units, time_format="%s").stdout == "well"
    assert [("PATH" in around, around["SLURM_TIME_FORMAT"]) for _argv, around in units.calls] == [
        (False, "%s"),
        (True, "%s"),
    ]


def test_a_program_without_a_configuration_gets_the_unit_s(tmp_path: Path) -> None:
    (tmp_path / "shared.conf").write_text("")
    conf = str(tmp_path / "shared.conf")
    unit = shown("/usr/sbin/slurmctld -D", f"Environment=SLURM_CONF={conf}")
    units = Units(programs=("squeue",), needs=conf, slurmctld=unit)
    assert call_slurm(["squeue"], units, time_format="%s").stdout == "well"


def test_a_program_that_answers_is_called_once() -> None:
    units = Units(programs=("squeue",))
    assert call_slurm(["squeue"], units, time_format="%s").rc == 0
    assert len(units.calls) == 1
