# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

CHECKOUT = Path(__file__).resolve().parents[4]
COLLECTIONS = CHECKOUT / ".collections"
CHECK = [{"name": "Refuse", "gaudi3.scale.role_options": None}]
GOES_ON = [{"name": "Go on", "ansible.builtin.debug": {"msg": "It went on."}}]
SECRET = "hunter2"
ENTRIES = (("main", "int"), ("wipe", "str"))


# The most lines, empty ones aside, that a playbook prints for two hosts. Ansible's own validation prints hundreds: the
# role's whole specification with each result.
MOST_LINES = {"launch_training": 25, "qualify_nodes": 25, "site": 45}


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Two roles of somebody's own, one of whose names begins with the other's, beside a playbook."""
    # Ansible's own way of printing, whoever runs the tests.
    monkeypatch.delenv("ANSIBLE_CONFIG", raising=False)
    write_role(tmp_path, "disk", {"main": ["disk_size"], "wipe": ["disk_wipe_passes"]})
    write_role(tmp_path, "disk_cache", {"main": ["disk_cache_size"]})
    return tmp_path


def write_role(site: Path, name: str, entries: dict[str, list[str]]) -> None:
    specification = {
        entry: {"options": {option: {"type": "raw"} for option in options}} for entry, options in entries.items()
    }
    files = {"meta/argument_specs.yml": {"argument_specs": specification}}
    files.update({f"tasks/{entry}.yml": CHECK + GOES_ON for entry in entries})
    for path, content in files.items():
        file = site / "roles" / name / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(yaml.safe_dump(content))


def play(site: Path, tasks: list[dict[str, object]], variables: dict[str, object], *arguments: str) -> str:
    (site / "play.yml").write_text(yaml.safe_dump([{"hosts": "node1", "gather_facts": False, "tasks": tasks}]))
    (site / "hosts.json").write_text(json.dumps({"all": {"hosts": {"node1": variables}}}))
    # Nothing answers there, so whatever asked the node would fail otherwise.
    host = ("-e", "ansible_host=192.0.2.1", "-e", "ansible_connection=ssh")
    ansible = Path(sys.executable).with_name("ansible-playbook")
    return subprocess.run(
        [ansible, "-i", "hosts.json", "play.yml", *host, *arguments],
        cwd=site,
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS), "ANSIBLE_NOCOLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    ).stdout


def role(verb: str, name: str, **options: object) -> dict[str, object]:
    return {f"ansible.builtin.{verb}_role": {"name": name, **options}}


@pytest.mark.parametrize("mode", [(), ("--check",)])
def test_misspelt_options_end_the_role_before_it_begins_and_no_value_is_shown(site, mode):
    screen = play(site, [role("include", "disk")], {"disk_sice": SECRET, "disk_wipe_pases": 2}, *mode)
    assert (
        '"msg": "disk_sice is not an option of disk on node1; did you mean disk_size? '
        'disk_wipe_pases is not an option of disk on node1; did you mean disk_wipe_passes?"'
    ) in screen
    assert SECRET not in screen
    assert "It went on." not in screen


@pytest.mark.parametrize("options", [{}, {"tasks_from": "wipe"}])
def test_options_of_every_entry_point_and_of_the_longer_name_pass(site, options):
    variables = {"disk_size": 1, "disk_wipe_passes": 2, "disk_cache_size": 3, "disk_cache_result": {}, "disk": 4}
    assert "It went on." in play(site, [role("import", "disk", **options)], variables)


def test_a_misspelt_option_of_another_entry_point_is_refused(site):
    screen = play(site, [role("import", "disk", tasks_from="wipe")], {"disk_sizes": 1})
    assert "disk_sizes is not an option of disk on node1; did you mean disk_size?" in screen


def test_what_another_role_refuses_is_not_this_role_s(site):
    screen = play(site, [role("include", "disk_cache")], {"disk_sice": 1})
    assert "It went on." in screen


def test_a_role_of_the_collection_refuses_what_its_task_was_given(site):
    task = {**role("import", "gaudi3.scale.gaudi_flags"), "vars": {"gaudi_flags_overide": {}}}
    screen = play(site, [task], {})
    assert (
        "gaudi_flags_overide is not an option of gaudi_flags on node1; did you mean gaudi_flags_overrides?"
    ) in screen
    assert "UNREACHABLE" not in screen


@pytest.mark.in_turn
@pytest.mark.parametrize(
    ("role_name", "variables"),
    [
        # Its first task is a module, and role_options.
        ("gaudi_flags", {"gaudi_flags_strict": "perhaps"}),
        ("gaudi_containers", {"gaudi_containers_hold": "perhaps"}),
    ],
)
def test_values_are_refused_where_ansible_s_own_task_is_left_out(site, role_name, variables):
    screen = play(site, [role("import", f"gaudi3.scale.{role_name}", rolespec_validate=False)], variables)
    (option,) = variables
    assert "Validating arguments" not in screen
    assert f"argument '{option}' is of type" in screen and "perhaps" in screen
    assert "UNREACHABLE" not in screen


def test_values_of_the_entry_point_that_is_played_are_looked_at(site):
    specification = {"argument_specs": {entry: {"options": {"disk_size": {"type": kind}}} for entry, kind in ENTRIES}}
    (site / "roles" / "disk" / "meta" / "argument_specs.yml").write_text(yaml.safe_dump(specification))

    def played(**options):
        return play(site, [role("import", "disk", rolespec_validate=False, **options)], {"disk_size": "much"})

    assert "is of type" in played()
    assert "It went on." in played(tasks_from="wipe")


def test_where_nothing_is_mounted_the_node_is_not_asked(site):
    task = role("import", "gaudi3.scale.gaudi_storage", rolespec_validate=False)
    screen = play(site, [task], {})
    assert "skipped=1" in screen and "UNREACHABLE" not in screen
    mounts = [{"source": "server:/data", "path": "/data", "type": "nfs"}]
    assert "UNREACHABLE" in play(site, [task], {"gaudi_storage_mounts": mounts})


def test_outside_of_a_role_all_of_the_collection_are_looked_at_at_once(site):
    known = {"gaudi_driver_result": {}, "gaudi_verify_all_reduce_result": {}, "gaudi_release": "1.24.1"}
    assert "ok=1" in play(site, CHECK, known)
    screen = play(site, CHECK, {"gaudi_driver_releas": 1, "gaudi_verify_kard": 1})
    assert "gaudi_driver_releas is not an option of gaudi_driver on node1; did you mean gaudi_driver_release?" in screen
    assert "gaudi_verify_kard is not an option of gaudi_verify on node1; did you mean gaudi_verify_cards?" in screen


@pytest.mark.in_turn
@pytest.mark.parametrize("task", [CHECK[0], role("import", "gaudi3.scale.gaudi_flags", rolespec_validate=False)])
@pytest.mark.parametrize("place", ["inventory", "extra", "task"])
def test_what_belongs_to_no_role_is_looked_at_by_all(site, task, place):
    given = {"gaudi_relase": "1.24.1", "gaudi_card_per_node": 8, "gaudi_weather": SECRET}
    arguments = ("-e", json.dumps(given)) if place == "extra" else ()
    asked = {**task, "vars": given} if place == "task" else task
    screen = play(site, [asked], given if place == "inventory" else {}, *arguments)
    assert (
        "gaudi_card_per_node is not an option of gaudi3.scale on node1; did you mean gaudi_cards_per_node? "
        "gaudi_relase is "
        "not an option of gaudi3.scale on node1; did you mean gaudi_release? gaudi_weather is not an option of "
        "gaudi3.scale on "
        "node1; remove it, or add it to gaudi_site_variables if it is yours."
    ) in screen
    assert SECRET not in screen and "UNREACHABLE" not in screen


@pytest.mark.in_turn
@pytest.mark.parametrize(
    ("playbook", "option", "sentence"),
    [
        ("launch_training", "gaudi_training_comand=x", "did you mean gaudi_training_command?"),
        ("launch_training", "gaudi_training_max_steps=abc", "cannot be converted to an int"),
        ("qualify_nodes", "gaudi_qualify_stage=x", "did you mean gaudi_qualify_stages?"),
        ("site", "gaudi_relase=1.23.0", "did you mean gaudi_release?"),
    ],
)
def test_a_mistyped_option_prints_a_few_lines_for_two_hosts_and_reaches_no_node(site, playbook, option, sentence):
    hosts = {name: {"ansible_host": "127.0.0.1", "ansible_port": 1} for name in ("node1", "node2")}
    (site / "hosts.json").write_text(json.dumps({"gaudi": {"hosts": hosts}}))
    ansible = Path(sys.executable).with_name("ansible-playbook")
    played = subprocess.run(
        [ansible, "-i", "hosts.json", CHECKOUT / "playbooks" / f"{playbook}.yml", "-e", option],
        cwd=site,
        env={
            **os.environ,
            "ANSIBLE_CONFIG": str(CHECKOUT / "ansible.cfg"),
            "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
            "ANSIBLE_NOCOLOR": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    screen = played.stdout + played.stderr
    assert played.returncode == 2
    assert sentence in " ".join(screen.split())
    assert "unreachable=1" not in screen
    assert len([line for line in screen.splitlines() if line.strip()]) <= MOST_LINES[playbook], screen


def test_a_site_has_variables_of_its_own(site):
    own = {"gaudi_weather": 1, "gaudi_color": 2, "mine": ["gaudi_color"]}
    assert "ok=1" in play(site, CHECK, {**own, "gaudi_site_variables": "{{ ['gaudi_weather'] + mine }}"})
    screen = play(site, CHECK, {**own, "gaudi_site_variables": "gaudi_weather"})
    assert "gaudi_site_variables of node1 is 'gaudi_weather'; give a list of names of variables." in screen


def test_the_first_role_of_site_refuses_what_no_role_knows(site):
    given = {"gaudi_verify_kard": 1, "gaudi_preflight_allow_mixed_releases": True}
    screen = play(site, [role("import", "gaudi3.scale.gaudi_preflight", rolespec_validate=False)], given)
    assert "gaudi_verify_kard is not an option of gaudi_verify on node1; did you mean gaudi_verify_cards?" in screen
    assert "UNREACHABLE" not in screen


def test_a_role_that_applies_others_can_have_all_looked_at(site):
    write_role(site, "disk", {"main": ["disk_size"]})
    tasks = site / "roles" / "disk" / "tasks" / "main.yml"
    tasks.write_text(yaml.safe_dump([{"name": "Refuse", "gaudi3.scale.role_options": {"all_roles": True}}]))
    screen = play(site, [role("include", "disk")], {"gaudi_verify_kard": 1})
    assert "gaudi_verify_kard is not an option of gaudi_verify on node1; did you mean gaudi_verify_cards?" in screen


def test_it_takes_no_name_of_a_role(site):
    screen = play(site, [{"gaudi3.scale.role_options": {"role": "gaudi_driver"}}], {})
    assert "Unsupported parameters" in screen
    assert "role" in screen


def test_what_came_as_data_is_no_name_of_a_variable(site):
    """Also where it stands in the place of an argument and looks like one: the module is given the braces."""
    (site / "said.yml").write_text("said: {release: !unsafe '{{ hidden }}'}\n")
    tasks = [
        {"ansible.builtin.include_vars": "said.yml"},
        {"gaudi3.scale.hpu_flags": {}, "args": "{{ said }}"},
    ]
    here = ("-e", "ansible_connection=local", "-e", f"ansible_python_interpreter={sys.executable}")
    screen = play(site, tasks, {"hidden": SECRET}, *here)
    assert "{{ hidden }}" in screen and "FAILED" in screen
    assert SECRET not in screen
