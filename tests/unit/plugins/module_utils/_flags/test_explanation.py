# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A list, a file and a running job, explained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.explanation import ExplainOptions, explain, listed
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.profiles import EnvironmentOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._flags.state import converge
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.kinds import KINDS
from ansible_collections.gaudi3.scale.tests.unit.installed_bridge import make_venv
from ansible_collections.gaudi3.scale.tests.unit.module_call import call


def no_run(*_arguments: Any, **_more: Any) -> Any:
    raise AssertionError("nothing is to be started for these options")


def unit_with(process: str) -> Any:
    return lambda _argv, **_more: CommandResult(0, f"MainPID={process}\n", "")


def verdicts(result: dict[str, Any]) -> dict[str, tuple[bool, str]]:
    return {one["name"]: (one["real"], one["effective"]) for one in result["flags"]}


def test_a_list_is_judged_by_the_catalog_where_there_is_no_bridge() -> None:
    result: Any = explain(ExplainOptions(flags=["PT_HPU_LAZY_MODE=0", "PT_HPU_ENABLE_ADVANCED_FUSION=1"]), no_run)
    assert verdicts(result) == {"PT_HPU_LAZY_MODE": (True, "yes"), "PT_HPU_ENABLE_ADVANCED_FUSION": (False, "no")}
    assert (result["judged_by"], result["release"], result["profile"]) == ("catalog", "1.24", "training_compile")


def test_the_bridge_of_the_node_judges_and_gives_the_release(tmp_path: Path) -> None:
    venv = make_venv(tmp_path, ["PT_HPU_LAZY_MODE", "PT_HPU_BRAND_NEW"], version="1.25.0.7")
    result: Any = explain(ExplainOptions(flags={"PT_HPU_BRAND_NEW": True}, venv=venv), no_run)
    assert (result["release"], result["judged_by"]) == ("1.25", "installed bridge 1.25.0.7")
    assert result["flags"][0]["value"] == "true" and result["flags"][0]["effective"] == "unknown"
    other: Any = explain(ExplainOptions(flags={"PT_HPU_BRAND_NEW": True}, venv=venv, release="1.24.1"), no_run)
    assert other["judged_by"] == "catalog" and not other["flags"][0]["real"]


@pytest.mark.parametrize(
    ("flags", "release", "profile"),
    [
        (["PT_HPU_LAZY_MODE=1"], "1.24.1", "training_lazy"),
        (["PT_HPU_SYNC_LAUNCH=1"], "1.24.1", "training_compile"),
        (["VLLM_BUCKETING_STRATEGY=exp"], "1.24.1", "inference_vllm"),
    ],
)
def test_the_kind_of_job_is_read_from_the_flags(flags: list[str], release: str, profile: str) -> None:
    assert explain(ExplainOptions(flags=flags, release=release), no_run)["profile"] == profile


def test_a_file_is_explained_with_what_a_person_changed(tmp_path: Path) -> None:
    path = tmp_path / "environment"
    places = {"path": str(path), "recipe_cache": str(tmp_path / "r"), "log_directory": str(tmp_path / "l")}
    converge(EnvironmentOptions("1.24.1", venv="", environment={"OMP_NUM_THREADS": 8}, **places), check_mode=False)
    path.write_text(path.read_text().replace("LAZY_MODE=0", "LAZY_MODE=1") + "PT_HPU_LAZYMODE=1\n")
    result: Any = explain(ExplainOptions(file=str(path)), no_run)
    assert result["other_variables"] == ["OMP_NUM_THREADS"]
    assert verdicts(result)["PT_HPU_LAZYMODE"] == (False, "no")
    assert result["profile"] == "training_lazy"
    assert result["hand_edit"] == ["-PT_HPU_LAZY_MODE=0", "+PT_HPU_LAZY_MODE=1", "+PT_HPU_LAZYMODE=1"]
    other = tmp_path / "other"
    other.write_text("PT_HPU_LAZY_MODE=0\n")
    assert explain(ExplainOptions(file=str(other)), no_run)["hand_edit"] == []


def test_a_running_job_is_explained_by_what_its_process_was_started_with(tmp_path: Path) -> None:
    (tmp_path / "4711").mkdir()
    variables = [
        "PATH=/bin",
        "RANK=3",
        "PT_HPU_ENABLE_MIXED_PRECISION=1",
        "HCCL_NEVER_SEEN=1",
        "EMPTY=",
        "NCCL_DEBUG=INFO",
        "GLOO_SOCKET_IFNAME=eth0",
    ]
    (tmp_path / "4711" / "environ").write_bytes(b"\0".join(text.encode() for text in variables) + b"\0")
    result: Any = explain(ExplainOptions(job="night", proc=str(tmp_path)), unit_with("4711"))
    assert result["source"] == "process 4711 of job night"
    assert verdicts(result) == dict.fromkeys(
        ["PT_HPU_ENABLE_MIXED_PRECISION", "HCCL_NEVER_SEEN", "NCCL_DEBUG"], (False, "no")
    )
    assert result["other_variables"] == ["EMPTY", "GLOO_SOCKET_IFNAME", "PATH", "RANK"]


def test_another_program_s_variables_of_a_job_are_no_flags_and_of_a_list_are_known_as_its_own(tmp_path: Path) -> None:
    flags = [
        "VLLM_DELAYED_SAMPLING=true",
        "GLOO_SOCKET_IFNAME=ens1",
        "HABANA_VISIBLE_DEVICES=ALL",
        "VLLM_SKIP_WARMUP=true",
    ]
    (tmp_path / "4711").mkdir()
    (tmp_path / "4711" / "environ").write_bytes("\0".join(flags).encode())
    of_job: Any = explain(ExplainOptions(job="night", proc=str(tmp_path)), unit_with("4711"))
    assert of_job["other_variables"] == ["GLOO_SOCKET_IFNAME", "VLLM_DELAYED_SAMPLING"]
    assert [one["level"] for one in of_job["flags"]] == ["ok", "warning"]
    listed: Any = explain(ExplainOptions(flags=flags), no_run)
    assert {one["name"]: one["known"] for one in listed["flags"]} == {
        "VLLM_DELAYED_SAMPLING": "another program",
        "GLOO_SOCKET_IFNAME": "another program",
        "HABANA_VISIBLE_DEVICES": "gaudi",
        "VLLM_SKIP_WARMUP": "gaudi",
    }


def test_of_a_job_that_no_unit_here_runs_the_lowest_rank_is_read(tmp_path: Path) -> None:
    """As under Slurm and mpirun; a data-loader worker (13) has its rank's environment, another job is none of ours."""
    for process, job, rank in ((12, "night", 9), (11, "night", 10), (13, "night", 9), (5, "day", 0), (4, "night", "")):
        (tmp_path / str(process)).mkdir()
        text = f"GAUDI3_SCALE_JOB={job}\0RANK={rank}\0PT_HPU_LAZY_MODE=0\0"
        (tmp_path / str(process) / "environ").write_bytes(text.encode())
    result: Any = explain(ExplainOptions(job="night", proc=str(tmp_path)), unit_with("0"))
    assert result["source"] == "process 12 of job night"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (ExplainOptions(), "nothing is given to explain; give one of flags, file and job."),
        (ExplainOptions(flags=["A=1"], job="x"), "flags and job is given to explain; give one of flags, file and job."),
        (ExplainOptions(flags=["PT_HPU_LAZY_MODE"]), "flags: 'PT_HPU_LAZY_MODE' is not NAME=value; write for example"),
        (ExplainOptions(flags=["A=1", "A=2"]), "flags: A is given twice, as '1' and '2'; give it once."),
        (ExplainOptions(flags={"A": ["x"]}), r"flags: A is \['x'\]; give one text or number."),
        (ExplainOptions(file="/nonexistent"), "There is no file /nonexistent on this node; name another"),
        (ExplainOptions(job="no/name"), "no/name"),
        (ExplainOptions(job="night"), "Job night does not run on this node; name a job that runs, or explain a file."),
        (ExplainOptions(flags=["A=1"], release="9.9"), "Release '9.9' is not known"),
        (ExplainOptions(flags=["A=1"], network="token_ring"), "network 'token_ring' is not known: use gaudi_ethernet"),
        (ExplainOptions(flags=["A=1"], profile="fast"), "profile 'fast' is not known: use training_compile"),
    ],
)
def test_options_that_cannot_be_meant_are_answered_in_one_sentence(options: ExplainOptions, message: str) -> None:
    with pytest.raises(GaudiError, match=message):
        explain(options, unit_with("0"))


def test_a_process_that_is_gone_is_told(tmp_path: Path) -> None:
    with pytest.raises(GaudiError, match=r"/4711/environ cannot be read: No such file or directory; does the process"):
        explain(ExplainOptions(job="night", proc=str(tmp_path)), unit_with("4711"))


def test_one_text_of_the_command_line_is_a_list() -> None:
    cache = "PT_HPU_RECIPE_CACHE_CONFIG"
    assert listed(f"PT_HPU_LAZY_MODE=0,{cache}=/x,false,8 A=") == {
        "PT_HPU_LAZY_MODE": "0",
        cache: "/x,false,8",
        "A": "",
    }


def made(**results: Any) -> Any:
    """The report of hosts with these results, None where there is none."""
    hosts = {host: {"gaudi_flags_explain_result": result} if result else {} for host, result in results.items()}
    return KINDS["explain_flags"].made(Asked(hosts, {}, check_mode=False))


def test_nodes_that_agree_share_a_line_and_silent_ones_have_a_note(tmp_path: Path) -> None:
    flags = ["PT_HPU_LAZY_MODE=0", "PT_HPU_ENABLE_ADVANCED_FUSION=1"]
    plain = explain(ExplainOptions(flags=flags), no_run)
    judged = explain(ExplainOptions(flags=flags, venv=make_venv(tmp_path, ["PT_HPU_LAZY_MODE"])), no_run)
    reported = made(n1=plain, n2=plain, n3=judged, n4={"failed": True, "msg": "There is\n no file."}, n5=None)
    report = reported.options
    assert report["title"] == "Flags of the list that was given"
    assert [(row["flag"], row["nodes"]) for row in report["rows"]] == [
        ("PT_HPU_LAZY_MODE", "n1, n2"),
        ("PT_HPU_LAZY_MODE", "n3"),
        ("PT_HPU_ENABLE_ADVANCED_FUSION", "all 3"),
    ]
    assert report["notes"][0] == "2 flags: 1 not real, 0 real but without effect"
    assert report["notes"][-2:] == ["n4: There is no file.", "n5: not reached"]
    assert report["sections"] == []
    assert reported.outcome == {
        "nodes": {"n1": "ok", "n2": "ok", "n3": "ok", "n4": "failed", "n5": "failed"},
        "ok": True,
        "numbers": {"not_real": 1},
    }
    assert reported.refusal == ""


def test_where_nobody_answered_the_play_fails_with_the_reason() -> None:
    assert made(n1={"failed": True, "msg": "no"}, n2=None).refusal == "No node returned a result: n1: no"
    assert made().refusal == "No node returned a result: gaudi_hosts matches no host."


def test_hand_edits_have_a_table() -> None:
    result = {**explain(ExplainOptions(flags=["PT_HPU_LAZY_MODE=0"]), no_run), "hand_edit": ["+A=1"]}
    (section,) = made(n1=result).options["sections"]
    assert section["rows"] == [{"node": "n1", "line": "+A=1"}]


def test_the_module_answers_and_fails_in_one_sentence() -> None:
    result, _status = call("hpu_flags_info", flags=["PT_HPU_POOL_STRATEGY=OPTIMIZE_UTILIZATION"], venv="/nonexistent")
    assert not result["changed"] and result["flags"][0]["level"] == "error"
    result, _status = call("hpu_flags_info")
    assert result["failed"] and result["msg"] == "nothing is given to explain; give one of flags, file and job."
