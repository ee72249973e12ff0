# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""HLML is asked in processes of its own: what it says, and each way in which it does not, as words."""

from __future__ import annotations

import fcntl
import io
import json
import os
import stat
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards import hlml
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hlml import ask_hlml
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hlml_fields import OF_CARD
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.archive import archive_of
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult, run_process
from ansible_collections.gaudi3.scale.tests.unit.sandbox.simulated_hlml import LOADED_SECONDS, SimulatedHlml, build_in

HEAD = "#include <stdlib.h>\n#include <string.h>\n#include <stdio.h>\n#include <unistd.h>\n"
# A library of 1.24 that has one card, with what a test adds or has otherwise.
ADDRESS = "0000:33:00.0"
SOUND = {
    "hlml_init": "int hlml_init(void) { return 0; }",
    "hlml_get_hlml_version": 'int hlml_get_hlml_version(char *t, unsigned l) { strcpy(t, "1.24.1"); return 0; }',
    "handle": "int hlml_device_get_handle_by_pci_bus_id(char *a, void **d) { *d = a; return 0; }",
    "pci_info": f'int hlml_device_get_pci_info(void *d, char *i) {{ strcpy(i + 4, "{ADDRESS}"); return 0; }}',
    "power": "int hlml_device_get_power_usage(void *d, unsigned *v) { *v = 226000; return 0; }",
}


@pytest.fixture(scope="module")
def hlml_here(tmp_path_factory: pytest.TempPathFactory) -> SimulatedHlml:
    return build_in(tmp_path_factory.mktemp("hlml"))


@pytest.fixture
def lock(tmp_path: Path) -> str:
    return str(tmp_path / "lock")


def ask(library: SimulatedHlml | str, lock: str = "", seconds: float = 10.0, **options) -> hlml.HlmlReading:
    path = library if isinstance(library, str) else library.path
    addresses = options.pop("addresses", (ADDRESS, "0000:34:00.0"))
    return ask_hlml(run_process, addresses, libraries=(path,), seconds=seconds, lock=lock, **options)


def built(directory: Path, *without: str, **parts: str) -> str:
    """A library of another kind: ``parts`` take the place of those of ``SOUND``, and ``without`` leave."""
    source = [text for name, text in {**SOUND, **parts}.items() if name not in without]
    (directory / "other.c").write_text(HEAD + "\n".join(source), encoding="utf-8")
    target = str(directory / "libhlml.so")
    subprocess.run(["gcc", "-w", "-shared", "-fPIC", "-o", target, directory / "other.c"], check=True)
    return target


def test_a_card_is_told_in_numbers_with_their_units(hlml_here: SimulatedHlml, lock: str) -> None:
    shown = {one.card.pci_address: one for one in hlml_here.show()}
    reading = ask(hlml_here, lock, addresses=tuple(shown))
    assert reading.reason == ""
    assert reading.versions["hlml_version"].value == "1.24.1-482 (simulated)"
    for address, one in shown.items():
        card = reading.card(address)
        assert card.text("serial") == one.card.serial
        assert card.number("power") == one.power * 1000
        assert card.number("memory_total") == one.board.memory_mib << 20
        assert card.number("celsius_aip") == one.temperature
        assert (card.number("power_least_limit"), card.number("power_most_limit")) == (450_000, 850_000)
        joules = one.power * LOADED_SECONDS
        assert joules <= (card.number("energy") or 0) / 1000 <= joules * 1.02
        assert {name: answer.reason for name, answer in card.answers.items() if answer.value is None} == {}
    assert reading.cards[ADDRESS].answers["power"].of.unit == "mW"


def test_what_a_card_has_is_seen(hlml_here: SimulatedHlml, lock: str) -> None:
    hlml_here.show(hot_card=[1], uncorrectable_ecc=[1])
    bad, good = ask(hlml_here, lock).cards.values()
    names = ("celsius_aip", "throttle_reasons", "ecc_uncorrected_volatile", "rows_replaced_double", "rows_pending")
    assert [bad.number(name) for name in names] == [98, 2, 3, 3, 1]
    assert [good.number(name) for name in names[1:]] == [0, 0, 0, 0]


def test_a_field_that_fails_costs_no_other(hlml_here: SimulatedHlml, lock: str) -> None:
    hlml_here.show(hlml_unknown_error=[1], absurd_temperature=[1])
    card = ask(hlml_here, lock).card(ADDRESS)
    unknown = {name: answer.reason for name, answer in card.answers.items() if answer.value is None}
    assert set(unknown) == {"utilization", "celsius_aip", "celsius_board", "celsius_hbm"}
    assert unknown["utilization"] == (
        "hlml_device_get_utilization_rates: it failed for a reason that it does not know (code 49)"
    )
    assert unknown["celsius_aip"] == "hlml_device_get_temperature says 505712272, which no card can have"


def test_a_card_that_is_lost_costs_no_other(hlml_here: SimulatedHlml, lock: str) -> None:
    hlml_here.show(hlml_lost_card=[1])
    lost, other = ask(hlml_here, lock).cards.values()
    assert {answer.reason for answer in lost.answers.values()} == {
        f"HLML has no card {ADDRESS}: the card is lost (code 15)"
    }
    assert other.number("power") is not None


def test_what_was_answered_before_a_hang_counts(hlml_here: SimulatedHlml, lock: str) -> None:
    hlml_here.show(hlml_hangs=[0])
    began = time.monotonic()
    reading = ask(hlml_here, lock, seconds=1.0)
    assert time.monotonic() - began < 8
    first, second = reading.cards.values()
    assert first.number("energy") is not None
    assert reading.reason == "HLML did not answer hlml_device_get_pci_info of 0000:34:00.0 within 1 s"
    assert {answer.reason for answer in second.answers.values()} == {reading.reason}


def test_a_crash_is_named_with_the_call(hlml_here: SimulatedHlml, lock: str) -> None:
    hlml_here.show(hlml_crashes=[0])
    reading = ask(hlml_here, lock)
    assert reading.card(ADDRESS).number("power") is not None
    assert reading.reason == "HLML crashed in hlml_device_get_pci_info of 0000:34:00.0 (SIGSEGV)"


def test_a_leak_ends_with_its_process(hlml_here: SimulatedHlml, lock: str) -> None:
    hlml_here.show(hlml_leaks=True)
    assert ask(hlml_here, lock).reason == ""


def test_a_leak_without_an_end_ends(tmp_path: Path, lock: str) -> None:
    power = "int hlml_device_get_power_usage(void *d, unsigned *v) { for (;;) memset(malloc(1 << 24), 1, 1 << 24); }"
    reading = ask(built(tmp_path, power=power), lock, addresses=(ADDRESS,))
    assert reading.reason == f"HLML crashed in hlml_device_get_power_usage of {ADDRESS} (SIGSEGV)"


def test_a_library_of_another_release_is_not_asked(hlml_here: SimulatedHlml, lock: str) -> None:
    hlml_here.show(hlml_older=True)
    reading = ask(hlml_here, lock)
    assert reading.reason == (
        f"{hlml_here.path} is of release 1.20.0 (simulated), and only those from 1.21 to 1.24 are read"
    )
    assert reading.card(ADDRESS).number("power") is None


def test_without_the_driver_it_does_not_start(hlml_here: SimulatedHlml, lock: str) -> None:
    (hlml_here.root / "hlml").write_text("", encoding="utf-8")
    assert ask(hlml_here, lock).reason == "HLML did not start: the driver is not loaded (code 9)"


def test_without_the_library_nothing_is_run(tmp_path: Path) -> None:
    def run(argv, **_options):
        raise AssertionError(argv)

    reading = ask_hlml(run, (ADDRESS,), libraries=(str(tmp_path / "libhlml.so"),))
    assert reading.reason == f"HLML is not installed: there is no {tmp_path}/libhlml.so"
    assert reading.card(ADDRESS).answers["power"].reason == reading.reason


def test_a_file_that_is_no_library_is_said(tmp_path: Path, lock: str) -> None:
    (tmp_path / "libhlml.so").write_text("Simulated\n", encoding="utf-8")
    said = ask(str(tmp_path / "libhlml.so"), lock).reason
    assert said.startswith(f"{tmp_path}/libhlml.so cannot be loaded: ")
    assert "file too short" in said or "invalid ELF header" in said


def test_a_pipe_in_its_place_holds_nobody(tmp_path: Path, lock: str) -> None:
    os.mkfifo(tmp_path / "libhlml.so")
    said = ask(str(tmp_path / "libhlml.so"), lock, seconds=1.0).reason
    assert said == "HLML did not answer dlopen within 1 s"


def test_symbols_that_are_missing_are_named(tmp_path: Path, lock: str) -> None:
    path = built(tmp_path, "handle")
    missing = "hlml_device_get_handle_by_pci_bus_id"
    assert ask(path, lock).reason == f"{path} is no HLML of a release from 1.21 to 1.24: it has no {missing}"
    card = ask(built(tmp_path), lock, addresses=(ADDRESS,)).card(ADDRESS)
    assert card.number("power") == 226000
    assert card.answers["energy"].reason == "this HLML has no hlml_device_get_total_energy_consumption"


def test_a_card_that_says_that_it_is_another_is_believed_nothing(tmp_path: Path, lock: str) -> None:
    reading = ask(built(tmp_path), lock, addresses=("0000:4d:00.0",))
    assert {answer.reason for answer in reading.card("0000:4d:00.0").answers.values()} == {
        f"HLML answered of {ADDRESS} where 0000:4d:00.0 was asked for"
    }


def test_one_that_writes_past_its_room_harms_nobody(tmp_path: Path, lock: str) -> None:
    wide = SOUND["pci_info"].replace("{ strcpy", "{ memset(i, 7, 2000); strcpy")
    assert ask(built(tmp_path, pci_info=wide), lock, addresses=(ADDRESS,)).card(ADDRESS).number("power") == 226000


def test_what_it_prints_is_no_answer(tmp_path: Path, lock: str) -> None:
    lie = json.dumps({"card": ADDRESS, "name": "power", "code": 0, "values": [1]}).replace('"', '\\"')
    loud = SOUND["power"].replace("{ *v", f'{{ puts("{lie}"); fprintf(stderr, "{lie}"); fflush(0); *v')
    assert ask(built(tmp_path, power=loud), lock, addresses=(ADDRESS,)).card(ADDRESS).number("power") == 226000


def test_one_that_ends_the_process_ends_no_other(tmp_path: Path, lock: str) -> None:
    power = "int hlml_device_get_power_usage(void *d, unsigned *v) { exit(0); }"
    reading = ask(built(tmp_path, power=power), lock, addresses=(ADDRESS,))
    assert reading.reason == f"HLML ended its reader in hlml_device_get_power_usage of {ADDRESS}"


def test_what_it_started_ends_with_it(tmp_path: Path, lock: str) -> None:
    init = 'int hlml_init(void) { if (!fork()) execl("/bin/sleep", "sleep", "97531", 0); return 0; }'
    began = time.monotonic()
    assert ask(built(tmp_path, hlml_init=init), lock, addresses=(ADDRESS,)).card(ADDRESS).number("power") == 226000
    assert time.monotonic() - began < 8
    commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert b"sleep\x0097531\x00" not in commands


def test_nothing_of_the_caller_leads_it_elsewhere(tmp_path: Path, lock: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HABANA_LOGS", "/tmp/somewhere")
    monkeypatch.setenv("LD_PRELOAD", "/nowhere/lib.so")
    power = (
        "int hlml_device_get_power_usage(void *d, unsigned *v) {"
        ' *v = getenv("HABANA_LOGS") || getenv("LD_PRELOAD") || strcmp(getcwd(0, 0), "/"); return 0; }'
    )
    assert ask(built(tmp_path, power=power), lock, addresses=(ADDRESS,)).card(ADDRESS).number("power") == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is told what others may change")
@pytest.mark.parametrize("what", ["library", "directory", "link"])
def test_what_another_account_may_change_is_not_loaded(tmp_path: Path, what: str) -> None:
    real = tmp_path / "real"
    real.mkdir()
    library = Path(built(real))
    link = tmp_path / "libhlml.so"
    link.symlink_to(library)
    changed = {"library": library, "directory": real, "link": tmp_path}[what]
    changed.chmod(stat.S_IMODE(changed.stat().st_mode) | stat.S_IWOTH)

    def run(argv, **_options):
        raise AssertionError(argv)

    reading = ask_hlml(run, (ADDRESS,), libraries=(str(link),))
    assert reading.reason.startswith(f"HLML was not loaded: {changed} belongs to account 0 (mode 0")
    assert reading.reason.endswith("and root loads nothing that another account may change")


@pytest.mark.skipif(os.geteuid() != 0, reason="the lock is root's")
def test_one_reader_at_a_time(hlml_here: SimulatedHlml, lock: str, monkeypatch: pytest.MonkeyPatch) -> None:
    hlml_here.show()
    monkeypatch.setattr(hlml, "WAIT_SECONDS", 0.3)
    with Path(lock).open("w", encoding="utf-8") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert ask(hlml_here, lock).reason == "another reader has been asking HLML for more than 0.3 s"
    assert ask(hlml_here, lock).reason == ""
    assert stat.S_IMODE(Path(lock).stat().st_mode) & 0o077 in (0, 0o044)


def test_where_nothing_can_be_written_it_is_asked_without_a_lock(hlml_here: SimulatedHlml) -> None:
    hlml_here.show()
    assert ask(hlml_here, "/proc/nowhere/lock").reason == ""


@pytest.mark.parametrize(
    ("done", "reason"),
    [
        (CommandResult(127, "", "python3: not installed"), "the reader of HLML failed: python3: not installed"),
        (CommandResult(124, "", "python3: no end after 30 s"), "the reader of HLML failed: python3: no end after 30 s"),
        (CommandResult(0, '{"end": "bytes"}', ""), "HLML answered more than 1048576 bytes"),
        (CommandResult(0, "[1]\n{not json\n" + '{"card": 1, "name": []}', ""), "the reader of HLML failed: no message"),
        (
            CommandResult(0, '{"end": "deadline", "stuck": true, "signal": 0}', ""),
            "HLML did not answer dlopen within 2 s; its process waits in the kernel and cannot be ended",
        ),
    ],
)
def test_a_reader_that_says_nothing_is_a_reason(hlml_here: SimulatedHlml, done: CommandResult, reason: str) -> None:
    reading = ask_hlml(lambda argv, **_options: done, (ADDRESS,), libraries=(hlml_here.path,), seconds=2)
    assert reading.reason == reason
    assert {answer.reason for answer in reading.card(ADDRESS).answers.values()} == {reason}


@pytest.mark.parametrize("values", [["x"], [], None, [True], [1.5], [-1], [1 << 70], [[1]]])
def test_an_answer_of_another_kind_is_no_value(hlml_here: SimulatedHlml, values: object) -> None:
    lines: list[dict[str, object]] = [
        {"card": ADDRESS, "name": "handle", "code": 0},
        {"card": ADDRESS, "name": "pci_address", "code": 0, "values": [51, ADDRESS]},
        {"card": ADDRESS, "name": "energy", "code": 0, "values": values},
        {"end": "ended", "stuck": False, "signal": 0},
    ]
    said = CommandResult(0, "\n".join(map(json.dumps, lines)), "")
    reading = ask_hlml(lambda argv, **_options: said, (ADDRESS,), libraries=(hlml_here.path,))
    assert reading.card(ADDRESS).number("energy") is None
    assert reading.card(ADDRESS).answers["energy"].reason


def test_a_card_that_nobody_asked_for_is_unknown() -> None:
    card = hlml.HlmlReading().card(ADDRESS)
    assert (card.number("power"), card.text("serial")) == (None, None)


def test_it_is_asked_from_an_archive_too(hlml_here: SimulatedHlml, tmp_path: Path) -> None:
    """As Ansible sends a module, and as the exporter's program is."""
    hlml_here.show()
    archive = tmp_path / "program.pyz"
    archive.write_bytes(archive_of(hlml.__name__))
    with zipfile.ZipFile(io.BytesIO(archive.read_bytes())) as files:
        assert any(name.endswith("_cards/hlml_reader.py") for name in files.namelist())
    program = (
        f"import sys; sys.path.insert(0, {str(archive)!r}); from {hlml.__name__} import ask_hlml\n"
        f"from {hlml.__name__.rpartition('._cards')[0]}._node.commands import run_process\n"
        f"said = ask_hlml(run_process, [{ADDRESS!r}], libraries=[{hlml_here.path!r}], lock='')\n"
        f"print(said.reason, said.card({ADDRESS!r}).number('power'))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=False)
    power = next(one.power for one in hlml_here.show() if one.card.pci_address == ADDRESS)
    assert (done.stdout.strip(), done.stderr) == (f"{power * 1000}", "")


def test_each_field_is_asked(hlml_here: SimulatedHlml) -> None:
    assert {one.name for one in OF_CARD} == set(ask_hlml(
        lambda argv, **_options: CommandResult(0, "", ""), (ADDRESS,), libraries=(hlml_here.path,)
    ).card(ADDRESS).answers)  # fmt: skip
