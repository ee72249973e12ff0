# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import ansible_runner
import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.table import NEWEST

from tests.s3_server import bucket_served

COLLECTIONS = Path(__file__).resolve().parents[4] / ".collections"
ANSIBLE = Path(sys.executable).with_name("ansible-playbook")
PLAYBOOK = """
- hosts: localhost
  gather_facts: false
  tasks:
    - name: Show the drivers
      gaudi3.scale.report:
        title: Drivers
        columns: [node, driver]
        rows: [{node: gaudi-01, driver: 1.24.1}]
        notes: [a note]
        sections:
          - title: Group 1
            columns: [what]
            rows: [{what: kernel}]
            notes: [a second note]
        data: {anything: [1]}
        name: drivers
        target: "{{ gaudi_report_target | default('') }}"
        files:
          - {name: best.yml, content: "a: 1\\n", label: "The best, for -e @FILE", mode: "0600"}
          - {name: base.json, content: {a: [1]}, label: Baseline, path: "{{ elsewhere | default('') }}"}
        outcome:
          variable: gaudi_drivers
          nodes: {localhost: ok}
      register: reported

    - name: Fail after it
      ansible.builtin.fail:
        msg: "Something is wrong. {{ reported.way }}"
      when: fails | default(false) | bool
"""


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    """Ansible's own way of printing, whoever runs the tests."""
    monkeypatch.delenv("ANSIBLE_CONFIG", raising=False)


@pytest.fixture
def play(tmp_path):
    """Runs the play in the directory ``here``; returns its status, and its lines before the recap."""
    (tmp_path / "here").mkdir()

    def run(*arguments: str, **environment: str) -> tuple[int, list[str]]:
        playbook = tmp_path / "play.yml"
        playbook.write_text(PLAYBOOK)
        done = subprocess.run(
            [ANSIBLE, "-i", "localhost,", "-c", "local", playbook, *arguments],
            cwd=tmp_path / "here",
            env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS), "ANSIBLE_NOCOLOR": "1", **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        lines = [line for line in done.stdout.splitlines() if line]
        recap = next(place for place, line in enumerate(lines) if line.startswith("PLAY RECAP"))
        assert " changed=0 " in lines[recap + 1], done.stdout
        return done.returncode, lines[:recap]

    return run


@pytest.fixture
def storage():
    with bucket_served("pages") as server:
        yield server


def last_of_the_task(lines: list[str]) -> str:
    """What the task printed last: Ansible's own word on the host comes after it, and a task that was skipped."""
    return lines[lines.index("ok: [localhost]") - 1]


def test_the_table_is_printed_and_kept_as_page_and_json(play, tmp_path):
    status, lines = play("-e", "gaudi_report_target=pages", "-e", "elsewhere=~/my.json", HOME=str(tmp_path))
    assert status == 0, lines
    assert "node      driver" in lines
    assert "gaudi-01  1.24.1" in lines
    assert lines.index("Group 1") < lines.index("kernel") < lines.index("  a second note")
    # Relative to where it was started, like a path on any command line.
    pages = tmp_path / "here" / "pages"
    assert last_of_the_task(lines) == f"Report: {pages}/drivers.html"
    assert f"The best, for -e @FILE: {pages}/best.yml" in lines
    assert f"Baseline: {tmp_path}/my.json" in lines
    page = (pages / "drivers.html").read_text()
    assert "gaudi-01" in page and "<p>1 node: 1 ok · 20" in page
    kept = json.loads((pages / "drivers.json").read_text())
    assert kept["rows"] == [{"node": "gaudi-01", "driver": "1.24.1"}]
    assert kept["data"] == {"anything": [1]}
    assert [section["title"] for section in kept["sections"]] == ["Group 1"]
    assert ((pages / "best.yml").read_text(), (pages / "best.yml").stat().st_mode & 0o777) == ("a: 1\n", 0o600)
    assert json.loads((tmp_path / "my.json").read_text()) == {"a": [1]}


def test_without_a_target_it_is_kept_where_the_play_was_started(play, tmp_path):
    assert last_of_the_task(play()[1]) == f"Report: {tmp_path}/here/gaudi3_scale_reports/drivers.html"


def test_a_play_that_fails_at_its_end_says_the_way_in_its_last_line(play, tmp_path):
    status, lines = play("-e", "fails=true", "-e", f"gaudi_report_target={tmp_path}/pages")
    assert status == 2
    assert f"Report: {tmp_path}/pages/drivers.html" in lines[-1]


def test_check_mode_prints_and_writes_nothing(play, tmp_path):
    status, lines = play("--check")
    assert (status, last_of_the_task(lines)) == (0, "Report: not saved in check mode")
    assert "gaudi-01  1.24.1" in lines
    assert list((tmp_path / "here").iterdir()) == []


def test_it_goes_to_a_bucket(play, tmp_path, storage):
    target = ("-e", "gaudi_report_target=s3://pages/team/a/", "-e", "elsewhere=s3://pages/base.json")
    status, lines = play(*target, **storage.environment())
    assert (status, last_of_the_task(lines)) == (0, "Report: s3://pages/team/a/drivers.html")
    assert "Baseline: s3://pages/base.json" in lines
    assert sorted(storage.names("pages")) == [
        "base.json",
        "team/a/best.yml",
        "team/a/drivers.html",
        "team/a/drivers.json",
    ]
    page = storage.client.get_object(Bucket="pages", Key="team/a/drivers.html")
    assert page["ContentType"] == "text/html; charset=utf-8"
    assert "gaudi-01" in page["Body"].read().decode()
    assert storage.client.get_object(Bucket="pages", Key="team/a/drivers.json")["ContentType"] == "application/json"
    grants = storage.client.get_object_acl(Bucket="pages", Key="team/a/drivers.html")["Grants"]
    assert [grant["Grantee"]["Type"] for grant in grants] == ["CanonicalUser"]
    assert list((tmp_path / "here").iterdir()) == []


@pytest.mark.parametrize(
    ("target", "refusing", "reason"),
    [
        ("s3://pages/a", True, "s3://pages/a: the storage answered SlowDown, so it is kept in "),
        ("s3://nothing/a", False, "s3://nothing/a: there is no such bucket, so it is kept in "),
        ("ftp://pages/a", False, "ftp://pages/a: there is no such place, so it is kept in "),
    ],
)
def test_a_target_that_refuses_loses_nothing_and_fails_nothing(play, tmp_path, storage, target, refusing, reason):
    storage.refuses = refusing
    status, lines = play("-e", f"gaudi_report_target={target}", **storage.environment())
    here = tmp_path / "here" / "gaudi3_scale_reports"
    assert (status, last_of_the_task(lines)) == (0, f"Report: {here}/drivers.html")
    assert sorted(path.name for path in here.iterdir()) == ["base.json", "best.yml", "drivers.html", "drivers.json"]
    warning = " ".join(lines[next(place for place, line in enumerate(lines) if "[WARNING]" in line) :])
    assert f"gaudi_report_target {reason}" in warning
    assert f"kept in {here}; " in warning


KIND = """
- hosts: all
  gather_facts: false
  tasks:
    - name: What each node has registered
      ansible.builtin.command:
        argv: [echo, !unsafe "{{ 1 + 1 }}"]
      register: gaudi_upgrade_result
      changed_when: false

    - name: Show it
      gaudi3.scale.report:
        kind: upgrade_driver
        hosts: [b, a]
        given: {release: 1.24.1}
        title: OTHER
        name: nodes
        target: OUT
        outcome:
          variable: gaudi_nodes
          good: [None]
      run_once: true
"""


def test_a_kind_is_made_of_what_hosts_registered_and_the_tasks_own_options_win(tmp_path):
    run_as_awx(tmp_path / "play", KIND.replace("OUT", str(tmp_path)))
    kept = json.loads((tmp_path / "nodes.json").read_text())
    assert kept["title"] == "OTHER"
    assert [(row["node"], row["state"]) for row in kept["rows"]] == [("b", "None"), ("a", "None")]
    assert f"<p>Release {NEWEST} · 2 nodes: 2 None · 20" in (tmp_path / "nodes.html").read_text()


REFUSED = {
    "nothing": ({"columns": []}, "one of the following is required: kind, title"),
    "no rows": ({"title": "T"}, "missing required arguments: columns, rows"),
    "another kind": ({"kind": "fleet"}, "value of kind must be one of: audit_cluster, "),
    "another host": (
        {"kind": "verdict", "hosts": ["n9"]},
        "hosts names n9, which is not in the inventory; correct the name, or add the host.",
    ),
    "unknown node": (
        {"kind": "explain_node", "given": {"node": "n9"}},
        "Nothing is known about n9: it was not inspected",
    ),
}


@pytest.mark.parametrize(("options", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_shown_is_refused(tmp_path, options, sentence):
    arguments = ["localhost", "-i", "localhost,", "-c", "local", "-m", "gaudi3.scale.report", "-a", json.dumps(options)]
    done = subprocess.run(
        [ANSIBLE.with_name("ansible"), *arguments],
        cwd=tmp_path,
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS), "ANSIBLE_NOCOLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert sentence in done.stdout


HOSTILE = "{{ lookup('pipe', 'touch PWNED') }}"
WORKFLOW = f"""
- hosts: all
  gather_facts: false
  tasks:
    - name: What a node says
      ansible.builtin.command:
        argv: [echo, !unsafe "{HOSTILE}"]
      register: said
      changed_when: false

    - name: Show it
      gaudi3.scale.report:
        title: Nodes
        columns: [node]
        rows: []
        name: nodes
        target: OUT/pages
        outcome:
          variable: gaudi_nodes
          nodes: "{{{{ {{'a': 'ok', 'b': said.stdout, said.stdout: 'ok'}} }}}}"
          numbers:
            step: 7
            loss: "{{{{ said.stdout }}}}"
          words:
            release: "{{{{ said.stdout }}}}"
            hosts: [a, "{{{{ said.stdout }}}}"]
      run_once: true
"""
NEXT_JOB = """
- hosts: localhost
  gather_facts: false
  tasks:
    - ansible.builtin.debug: {var: gaudi_nodes}
    - ansible.builtin.debug: {msg: "{{ gaudi_nodes.ok_nodes }} of {{ gaudi_nodes.nodes | length }}"}
"""


def run_as_awx(directory: Path, text: str, **arguments: object) -> list[dict]:
    """The events of a play that ansible-runner ran, as AWX lets it."""
    directory.mkdir(exist_ok=True)
    (directory / "play.yml").write_text(text)
    result = ansible_runner.run(
        private_data_dir=str(directory),
        project_dir=str(directory),
        playbook="play.yml",
        inventory=f"[all]\na\nb\n[all:vars]\nansible_connection=local\nansible_python_interpreter={sys.executable}\n",
        envvars={"ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS), "PATH": f"{ANSIBLE.parent}:{os.environ['PATH']}"},
        quiet=True,
        **arguments,
    )
    assert result.status == "successful", result.stdout.read()
    return list(result.events)


def test_the_outcome_comes_to_the_next_job_and_no_word_of_a_node_is_a_template_there(tmp_path):
    events = run_as_awx(tmp_path / "first", WORKFLOW.replace("OUT", str(tmp_path)))
    (artifacts,) = [e["event_data"]["artifact_data"] for e in events if e["event"] == "playbook_on_stats"]
    assert artifacts == {
        "gaudi_nodes": {
            "verdict": "failed",
            "nodes": {"a": "ok", "b": "unclear"},
            "ok_nodes": ["a"],
            "failed_nodes": ["b"],
            "step": 7,
            "loss": None,
            "release": "",
            "hosts": ["a", ""],
            "report": f"{tmp_path}/pages/nodes.html",
            "report_error": "",
            "check_mode": False,
        }
    }
    events = run_as_awx(tmp_path / "second", NEXT_JOB, extravars=artifacts)
    assert any("['a'] of 2" in event["stdout"] for event in events)
    assert not list(tmp_path.rglob("PWNED"))
