# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The runtime in the files of Docker, podman and containerd: merged, refused, backed up, left alone the second time."""

from __future__ import annotations

import json
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._containers.containerd import config_toml, cri_is_off
from ansible_collections.gaudi3.scale.plugins.module_utils._containers.docker import daemon_json
from ansible_collections.gaudi3.scale.plugins.module_utils._containers.podman import containers_conf
from ansible_collections.gaudi3.scale.plugins.module_utils._containers.state import Place, RuntimeOptions, converge
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.tests.unit.unit_runner import UnitRunner

from .kernel_with_cards import lose_card, make_cards

PROGRAM = "/usr/bin/habana-container-runtime"
WANTED = {"name": "habana", "program": PROGRAM}
# As Debian's package of containerd has it.
CONTAINERD_DEBIAN = """\
version = 2

[plugins]
  [plugins."io.containerd.grpc.v1.cri"]
    [plugins."io.containerd.grpc.v1.cri".cni]
      bin_dir = "/usr/lib/cni"
      conf_dir = "/etc/cni/net.d"
  [plugins."io.containerd.internal.v1.opt"]
    path = "/var/lib/containerd"
"""
# As Docker's package of containerd has it.
CONTAINERD_DOCKER = '#   Licensed under ...\n\ndisabled_plugins = ["cri"]\n\n#root = "/var/lib/containerd"\n'
KUBERNETES_3 = """\
version = 3
[plugins.'io.containerd.cri.v1.runtime'.containerd]
  default_runtime_name = 'runc'
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
    runtime_type = 'io.containerd.runc.v2'
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
      SystemdCgroup = false
"""


class Node:
    """A node with some engines; ``dpkg`` is what dpkg-query prints."""

    def __init__(self, root: Path, *programs: str) -> None:
        self.root, self.etc = root, root / "etc"
        self.programs = set(programs)
        self.program = root / "habana-container-runtime"
        self.program.touch()
        self.dpkg = ""
        self.versions = {"dockerd": "Docker version 29.1.5, build 0e6fee6", "podman": "podman version 4.3.1"}
        self.containers = ""
        programs = dict.fromkeys(("dockerd", "podman", "containerd"), self.version)
        programs["docker"] = lambda _: CommandResult(0, self.containers, "")
        programs["apt-mark"] = lambda _: CommandResult(0, "", "")
        self.run = UnitRunner(self.etc, {"dpkg-query": self.dpkg_query, **programs})

    def version(self, argv: Sequence[str]) -> CommandResult:
        return CommandResult(0, self.versions.get(argv[0], ""), "")

    def dpkg_query(self, argv: Sequence[str]) -> CommandResult:
        return CommandResult(0, self.dpkg, "")

    def write(self, path: str, text: str) -> Path:
        target = self.etc / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        return target

    def read(self, path: str) -> str:
        return (self.etc / path).read_text(encoding="utf-8")

    def converge(self, check_mode: bool = False, **options: Any) -> dict[str, Any]:
        place = Place(str(self.etc), str(self.root / "run"), str(self.root), installed=self.programs.__contains__)
        wishes = RuntimeOptions(program=str(self.program), **options)
        return converge(wishes, self.run, check_mode, place)


# ---- Docker


def test_a_new_daemon_json() -> None:
    text = daemon_json(None, "/etc/docker/daemon.json", default=False, **WANTED)
    assert json.loads(text) == {"runtimes": {"habana": {"path": PROGRAM}}}
    assert text.endswith("}\n")
    assert daemon_json(text, "/etc/docker/daemon.json", default=False, **WANTED) == text


def test_the_operators_keys_and_layout_stay() -> None:
    before = '{\n    "log-driver": "local",\n    "runtimes": {"kata": {"path": "/k"}},\n    "dns": ["10.0.0.1"]\n}\n'
    after = daemon_json(before, "daemon.json", default=True, **WANTED)
    assert after == (
        '{\n    "log-driver": "local",\n    "runtimes": {"kata": {"path": "/k"}, "habana": {"path": "'
        + PROGRAM
        + '"}},\n    "dns": ["10.0.0.1"],\n    "default-runtime": "habana"\n}\n'
    )
    assert daemon_json(after, "daemon.json", default=True, **WANTED) == after


def test_without_the_wish_for_a_default_the_operators_choice_stays() -> None:
    before = '{"default-runtime": "kata", "runtimes": {"kata": {"path": "/k"}}}'
    assert json.loads(daemon_json(before, "daemon.json", default=False, **WANTED))["default-runtime"] == "kata"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"debug": true,}', r"^/etc/docker/daemon.json is not JSON \(.*line 1.*\); correct it, nothing was changed.$"),
        ("{ # comment\n}", "is not JSON"),
        ('["a"]', "is not a JSON object"),
        ('{"runtimes": []}', "runtimes is not an object"),
        ('{"runtimes": {"habana": "x"}}', "runtimes.habana is not an object"),
        ('{"runtimes": {"habana": {"runtimeType": "io.x"}}}', "has a runtimeType"),
    ],
)
def test_a_daemon_json_that_cannot_be_merged_is_refused(text: str, message: str) -> None:
    with pytest.raises(GaudiError, match=message):
        daemon_json(text, "/etc/docker/daemon.json", default=False, **WANTED)


# ---- containerd


def test_containerd_2_is_merged_at_the_end() -> None:
    after = config_toml(CONTAINERD_DEBIAN, "config.toml", default=False, **WANTED)
    assert after == CONTAINERD_DEBIAN + (
        '\n[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.habana]\n'
        '  runtime_type = "io.containerd.runc.v2"\n'
        '\n[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.habana.options]\n'
        f'  BinaryName = "{PROGRAM}"\n'
        "  SystemdCgroup = true\n"
    )
    assert config_toml(after, "config.toml", default=False, **WANTED) == after


def test_containerd_3_has_the_other_plugin_and_takes_the_cgroup_driver_of_runc() -> None:
    after = config_toml(KUBERNETES_3, "config.toml", default=True, **WANTED)
    assert 'default_runtime_name = "habana"' in after
    assert '[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.habana.options]' in after
    assert after.count("SystemdCgroup = false") == 2
    assert config_toml(after, "config.toml", default=True, **WANTED) == after


def test_a_runtime_that_is_there_in_other_words_is_left_alone() -> None:
    text = f"""\
version = 2
[plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.habana]
  runtime_type = 'io.containerd.runc.v2'
  options = {{ BinaryName = "{PROGRAM}" }}
"""
    with pytest.raises(GaudiError, match="is set inside its parent"):
        config_toml(text, "config.toml", default=False, **WANTED)
    spelled_out = text.replace(
        f'  options = {{ BinaryName = "{PROGRAM}" }}\n',
        f"  options.BinaryName = '{PROGRAM}'\n  options.SystemdCgroup = true\n",
    )
    assert config_toml(spelled_out, "config.toml", default=False, **WANTED) == spelled_out


def test_another_program_is_replaced_in_its_place() -> None:
    old = config_toml(CONTAINERD_DEBIAN, "config.toml", name="habana", program="/opt/old", default=False)
    assert config_toml(old, "config.toml", default=False, **WANTED) == old.replace("/opt/old", PROGRAM)


def test_a_new_config_toml_is_one_that_every_containerd_reads() -> None:
    for nothing in (None, "", "\n"):
        text = config_toml(nothing, "config.toml", default=False, **WANTED)
        assert text.startswith("version = 2\n")
        assert config_toml(text, "config.toml", default=False, **WANTED) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("version = 9\n", "has version 9; only 1, 2 and 3 are known"),
        ("version = 0\n", "has version 0; only 1, 2 and 3 are known"),
        # What is switched off is said before what is old, or not known.
        (CONTAINERD_DOCKER, "disables the CRI plugin, .* remove it from disabled_plugins"),
        ('version = 9\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n', "disables the CRI plugin"),
        ('disabled_plugins = [\n  "btrfs",\n  \'cri\',\n]\nroot = "/x"\n', "disables the CRI plugin"),
        ("version = 2\n[plugins\n", r"cannot be merged into \(line 2: .*\); correct it, nothing was changed"),
        ('version = 2\ndisabled_plugins = ["cri"]\n', "disables the CRI plugin"),
        ('version = 2\n[plugins]\n"io.containerd.grpc.v1.cri" = { x = 1 }\n', "no table can be added there"),
    ],
)
def test_a_config_toml_that_cannot_be_merged_is_refused(text: str, message: str) -> None:
    with pytest.raises(GaudiError, match=message):
        config_toml(text, "/etc/containerd/config.toml", default=False, **WANTED)


CRI_1 = """\
[plugins.cri]
  sandbox_image = "registry.k8s.io/pause:3.2"
  [plugins.cri.containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins.cri.containerd.runtimes.runc.options]
      SystemdCgroup = false
"""


@pytest.mark.parametrize("text", ['root = "/x"\n', "version = 1\n", 'disabled_plugins = ["btrfs"]\n', CRI_1])
def test_a_config_toml_without_a_version_is_one_of_version_1(text: str) -> None:
    after = config_toml(text, "config.toml", default=True, **WANTED)
    assert after.startswith(text.partition("\n")[0])
    assert "[plugins.cri.containerd.runtimes.habana.options]" in after
    assert f'BinaryName = "{PROGRAM}"' in after
    assert after.count("SystemdCgroup = false") == (2 if text == CRI_1 else 0)
    assert 'default_runtime_name = "habana"' in after
    assert "io.containerd.grpc" not in after
    assert config_toml(after, "config.toml", default=True, **WANTED) == after


def test_a_config_toml_of_remarks_alone_is_a_new_one() -> None:
    remarks = "# Licensed under ...\n#disabled_plugins = []\n"
    after = config_toml(remarks, "config.toml", default=False, **WANTED)
    assert after.startswith(f"version = 2\n{remarks}")
    assert config_toml(after, "config.toml", default=False, **WANTED) == after


def test_dockers_own_containerd_has_its_cri_plugin_off() -> None:
    assert cri_is_off(CONTAINERD_DOCKER)
    assert not cri_is_off(CONTAINERD_DEBIAN)
    assert not cri_is_off(None)


@pytest.mark.parametrize("text", [CONTAINERD_DEBIAN, KUBERNETES_3, None])
def test_containerd_is_told_of_cdi_once(text: str | None) -> None:
    after = config_toml(text, "config.toml", default=False, cdi=True, **WANTED)
    assert after.count("enable_cdi = true") == 1
    assert "cdi_spec_dirs" not in after
    assert config_toml(after, "config.toml", default=False, cdi=True, **WANTED) == after
    assert config_toml(after, "config.toml", default=False, cdi=False, **WANTED) == after


def test_containerds_own_directories_stay_and_ours_is_added() -> None:
    cri = "[plugins.'io.containerd.grpc.v1.cri']\n  enable_cdi = false\n  cdi_spec_dirs = ['/srv/cdi']\n"
    after = config_toml("version = 2\n" + cri, "config.toml", default=False, cdi=True, **WANTED)
    assert '  enable_cdi = true\n  cdi_spec_dirs = ["/srv/cdi", "/etc/cdi"]\n' in after


# ---- CDI in Docker's file


def test_docker_is_told_of_cdi_beside_the_operators_features() -> None:
    before = '{"features": {"containerd-snapshotter": true, "cdi": false}, "cdi-spec-dirs": ["/srv/cdi"]}'
    after = daemon_json(before, "daemon.json", default=False, cdi=True, **WANTED)
    assert json.loads(after)["features"] == {"containerd-snapshotter": True, "cdi": True}
    assert json.loads(after)["cdi-spec-dirs"] == ["/srv/cdi", "/etc/cdi"]
    assert daemon_json(after, "daemon.json", default=False, cdi=True, **WANTED) == after
    assert "cdi-spec-dirs" not in daemon_json("{}", "daemon.json", default=False, cdi=True, **WANTED)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"features": true}', "daemon.json: features is not an object"),
        ('{"cdi-spec-dirs": "/etc/cdi"}', "daemon.json: cdi-spec-dirs is not a list"),
    ],
)
def test_a_daemon_json_whose_cdi_cannot_be_merged_is_refused(text: str, message: str) -> None:
    with pytest.raises(GaudiError, match=message):
        daemon_json(text, "daemon.json", default=False, cdi=True, **WANTED)


# ---- podman


def test_podman_has_a_drop_in() -> None:
    table = f'[engine.runtimes]\nhabana = ["{PROGRAM}"]\n'
    assert containers_conf(default=False, **WANTED) == f"# Written by gaudi3.scale.\n{table}"
    assert '[engine]\nruntime = "habana"\n' in containers_conf(default=True, **WANTED)


# ---- The node


def test_no_engine_is_said_and_is_no_change(tmp_path: Path) -> None:
    result = Node(tmp_path).converge()
    assert result == {
        "changed": False,
        "diff": [],
        "msg": "No container engine is installed, so habana is registered with none.",
        "engines": [],
        "cdi_devices": [],
        "backups": [],
        "services": [],
        "warnings": [],
    }


@pytest.mark.parametrize(
    ("programs", "engines", "chosen"),
    [
        (("dockerd", "containerd"), ("auto",), ["docker"]),
        (("podman", "runc"), ("auto",), ["podman"]),
        (("containerd",), ("auto",), ["containerd"]),
        (("dockerd", "containerd", "podman", "runc"), ("auto",), ["docker", "podman"]),
        (("dockerd", "containerd"), ("auto", "containerd"), ["docker", "containerd"]),
        ((), ("docker",), ["docker"]),
        (("dockerd",), ("containerd",), ["containerd"]),
    ],
)
def test_engines(tmp_path: Path, programs: Sequence[str], engines: tuple[str, ...], chosen: list[str]) -> None:
    assert Node(tmp_path, *programs).converge(engines=engines)["engines"] == chosen


def test_a_containerd_without_cri_is_no_engine_of_its_own(tmp_path: Path) -> None:
    node = Node(tmp_path, "containerd")
    node.write("containerd/config.toml", CONTAINERD_DOCKER)
    assert node.converge()["engines"] == []
    with pytest.raises(GaudiError, match="disables the CRI plugin"):
        node.converge(engines=("containerd",))


def test_dockers_file_is_merged_once_with_a_copy_and_a_reload(tmp_path: Path) -> None:
    node = Node(tmp_path, "dockerd", "containerd")
    file = node.write("docker/daemon.json", '{"debug": true}\n')
    file.chmod(0o600)
    node.run.active = {"docker", "containerd"}
    shown = node.converge(check_mode=True)
    assert node.read("docker/daemon.json") == '{"debug": true}\n'
    result = node.converge()
    assert result["changed"]
    assert result["diff"] == shown["diff"]
    assert result["services"] == [{"name": "docker", "state": "reloaded"}]
    (backup,) = result["backups"]
    assert Path(backup).read_text(encoding="utf-8") == '{"debug": true}\n'
    assert json.loads(node.read("docker/daemon.json")) == {
        "debug": True,
        "runtimes": {"habana": {"path": str(node.program)}},
    }
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    second = node.converge()
    assert (second["changed"], second["services"], second["backups"]) == (False, [], [])
    assert len(list(file.parent.iterdir())) == 2


def test_containerd_has_to_be_restarted(tmp_path: Path) -> None:
    node = Node(tmp_path, "containerd")
    node.write("containerd/config.toml", CONTAINERD_DEBIAN)
    assert node.converge(check_mode=True)["services"] == []
    node.run.active = {"containerd"}
    assert node.converge()["services"] == [{"name": "containerd", "state": "restarted"}]


def test_a_linked_file_is_written_where_it_lies(tmp_path: Path) -> None:
    node = Node(tmp_path, "dockerd")
    node.run.active = {"docker"}
    real = node.write("site/daemon.json", "{}\n")
    (node.etc / "docker").mkdir()
    (node.etc / "docker/daemon.json").symlink_to(real)
    assert node.converge()["services"] == [{"name": "docker", "state": "reloaded"}]
    assert (node.etc / "docker/daemon.json").is_symlink()
    assert "habana" in real.read_text(encoding="utf-8")


def test_one_bad_file_stops_all_before_anything_is_written(tmp_path: Path) -> None:
    node = Node(tmp_path, "podman", "containerd", "runc")
    node.write("docker/daemon.json", "not json")
    with pytest.raises(GaudiError, match="is not JSON"):
        node.converge(engines=("auto", "docker"))
    assert [path.name for path in node.etc.rglob("*")] == ["docker", "daemon.json"]


def test_a_runtime_that_is_not_installed_is_refused_but_shown_in_check_mode(tmp_path: Path) -> None:
    node = Node(tmp_path, "podman", "runc")
    node.program.unlink()
    assert node.converge(check_mode=True)["changed"]
    with pytest.raises(GaudiError, match="install the package habanalabs-container-runtime first"):
        node.converge()
    assert not node.etc.exists()


def test_podman_without_runc_is_warned_of(tmp_path: Path) -> None:
    (warning,) = Node(tmp_path, "podman").converge()["warnings"]
    assert "habana starts containers with runc, which is not installed" in warning
    assert Node(tmp_path, "podman", "runc").converge()["warnings"] == []


def test_the_package_is_held_once(tmp_path: Path) -> None:
    node = Node(tmp_path)
    package = "habanalabs-container-runtime"
    node.dpkg = f"{package}\t1.24.1-482\tinstall\tinstalled\n"
    shown = node.converge(check_mode=True, hold=(package,))
    assert shown["changed"]
    assert f"apt-mark hold {package}" not in node.run.calls
    assert node.converge(hold=(package,))["diff"] == shown["diff"]
    assert f"apt-mark hold {package}" in node.run.calls
    node.dpkg = f"{package}\t1.24.1-482\thold\tinstalled\n"
    assert not node.converge(hold=(package,))["changed"]
    node.dpkg = ""
    assert not node.converge(hold=(package,))["changed"]


# ---- CDI on the node


def test_cdi_is_shown_then_written_then_left_alone(tmp_path: Path) -> None:
    node = Node(tmp_path, "dockerd", "podman", "runc")
    make_cards(tmp_path, 2)
    shown = node.converge(check_mode=True, cdi=True)
    assert not node.etc.exists()
    result = node.converge(cdi=True)
    assert result["diff"] == shown["diff"]
    assert result["cdi_devices"] == ["habana.ai/gaudi=0", "habana.ai/gaudi=1", "habana.ai/gaudi=all"]
    assert json.loads(node.read("docker/daemon.json"))["features"] == {"cdi": True}
    assert json.loads(node.read("cdi/gaudi3-scale.json"))["kind"] == "habana.ai/gaudi"
    assert not node.converge(cdi=True)["changed"]


def test_the_specification_follows_the_cards_and_goes_with_them(tmp_path: Path) -> None:
    node = Node(tmp_path, "podman", "runc")
    make_cards(tmp_path, 2)
    node.converge(cdi=True)
    lose_card(tmp_path, 1)
    assert node.converge(cdi=True)["changed"]
    assert "accel1" not in node.read("cdi/gaudi3-scale.json")
    lose_card(tmp_path, 0)
    (warning,) = node.converge(cdi=True)["warnings"]
    assert "The driver shows no card, so there is no CDI specification" in warning
    assert not (node.etc / "cdi/gaudi3-scale.json").exists()


def test_without_the_wish_ours_is_removed_and_others_stay(tmp_path: Path) -> None:
    node = Node(tmp_path, "podman", "runc")
    make_cards(tmp_path, 1)
    node.converge(cdi=True)
    other = node.write("cdi/other.json", '{"kind": "habana.ai/gaudi"}')
    assert node.converge()["changed"]
    assert list(other.parent.iterdir()) == [other]


def test_somebody_elses_specification_stops_all_before_anything_is_written(tmp_path: Path) -> None:
    node = Node(tmp_path, "podman", "runc")
    make_cards(tmp_path, 1)
    other = tmp_path / "run/cdi/vendor.yaml"
    other.parent.mkdir(parents=True)
    other.write_text("kind: habana.ai/gaudi\n", encoding="utf-8")
    with pytest.raises(GaudiError, match=rf"^{other} describes devices of the kind habana.ai/gaudi already"):
        node.converge(cdi=True)
    assert not node.etc.exists()
    assert node.converge()["changed"]


def test_an_old_docker_gets_the_runtime_and_no_cdi(tmp_path: Path) -> None:
    node = Node(tmp_path, "dockerd")
    make_cards(tmp_path, 1)
    node.versions["dockerd"] = "Docker version 20.10.24+dfsg1, build 297e128"
    (warning,) = node.converge(cdi=True)["warnings"]
    assert "docker 20.10 reads no CDI specifications, 25.0 is the first that does" in warning
    assert list(json.loads(node.read("docker/daemon.json"))) == ["runtimes"]


@pytest.mark.parametrize(
    ("before", "containers", "state"),
    [
        ("{}", "", "restarted"),
        ('{"live-restore": true}', "3f1a\n", "restarted"),
        ("{}", "3f1a\n", "reloaded"),
        ('{"features": {"cdi": true}}', "3f1a\n", "reloaded"),
    ],
)
def test_docker_is_restarted_for_cdi_where_no_container_ends(
    tmp_path: Path, before: str, containers: str, state: str
) -> None:
    node = Node(tmp_path, "dockerd")
    make_cards(tmp_path, 1)
    node.write("docker/daemon.json", before)
    node.run.active, node.containers = {"docker"}, containers
    result = node.converge(cdi=True)
    assert result["services"] == [{"name": "docker", "state": state}]
    assert len(result["warnings"]) == (before == "{}" and bool(containers))


def test_the_vendors_settings_are_merged_with_a_copy(tmp_path: Path) -> None:
    node = Node(tmp_path, "podman", "runc")
    file = node.write("habana-container-runtime/config.toml", "disable-require = false\n")
    file.chmod(0o600)
    (backup,) = node.converge(settings={"mount_uverbs": False})["backups"]
    assert file.read_text(encoding="utf-8") == "disable-require = false\nmount_uverbs = false\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert Path(backup).read_text(encoding="utf-8") == "disable-require = false\n"
    assert not node.converge(settings={"mount_uverbs": False})["changed"]


def test_a_broken_file_of_the_vendors_stops_all_and_stays(tmp_path: Path) -> None:
    node = Node(tmp_path, "podman", "runc")
    file = node.write("habana-container-runtime/config.toml", "[half\n")
    with pytest.raises(GaudiError, match=r"config\.toml cannot be merged into"):
        node.converge(settings={"mount_uverbs": False})
    assert file.read_text(encoding="utf-8") == "[half\n"
    assert not (node.etc / "containers").exists()
