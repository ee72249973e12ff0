# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A real haproxy with our configuration, in front of processes that are drained, killed, stopped and started again."""

from __future__ import annotations

import http.client
import json
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.proxy import Server
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.proxy_commands import server_states
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.proxy_state import converge

from sandbox.engine.local import free_port
from tests.local_haproxy import MISSING, LocalHaproxy

pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)
STUB = Path(__file__).parents[4] / "stub_instance.py"
CLIENTS = 6


class Instances:
    """Two processes, behind one proxy."""

    def __init__(self, proxy: LocalHaproxy) -> None:
        self.proxy, self.port = proxy, free_port()
        self.ports = {"one": free_port(), "two": free_port()}
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str) -> None:
        words = [sys.executable, str(STUB), str(self.ports[name]), name]
        self.running[name] = subprocess.Popen(words)

    def end(self, name: str) -> None:
        self.running[name].kill()
        self.running[name].wait()

    def server(self, name: str, **more: object) -> Server:
        given = {"model": "m", "max_num_seqs": 5, "max_model_len": 20_000, "admitted": True, **more}
        return Server(name=f"n:{name}", address="127.0.0.1", port=self.ports[name], **given)

    def present(self, *servers: Server, **more: object) -> dict[str, object]:
        options = self.proxy.options(port=self.port, instances=servers, health_timeout=1, **more)
        return converge(options, self.proxy, False)

    def ask(self, size: int = 10) -> str:
        """The name of who answered; else what went wrong."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            body = json.dumps({"model": "m", "prompt": "x" * size, "stream": True})
            connection.request("POST", "/v1/completions", body)
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 200:
                return f"status {answer.status}"
            return str(answer.headers["X-Instance"]) if text.endswith(b"[DONE]\n\n") else "truncated"
        except (OSError, http.client.HTTPException) as error:
            return f"{type(error).__name__}"
        finally:
            connection.close()

    def load(self, requests: int, size: int = 10) -> threading.Thread:
        """In the background; ``self.answers`` is who answered how often."""
        self.answers: Counter[str] = Counter()
        left = iter(range(requests))

        def client() -> None:
            for _number in left_of(left):
                self.answers[self.ask(size)] += 1

        threads = [threading.Thread(target=client) for _ in range(CLIENTS)]
        for thread in threads:
            thread.start()

        def wait() -> None:
            for thread in threads:
                thread.join()

        waiting = threading.Thread(target=wait)
        waiting.start()
        return waiting

    def status(self, name: str) -> str:
        return server_states(self.proxy.places.admin)[f"n:{name}"].status


LOCK = threading.Lock()


def left_of(numbers: Iterator[int]) -> Iterator[int]:
    while True:
        with LOCK:
            number = next(numbers, None)
        if number is None:
            return
        yield number


def until(true: object, seconds: float = 15.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture
def instances(tmp_path: Path) -> Iterator[Instances]:
    made = Instances(LocalHaproxy(tmp_path))
    for name in made.ports:
        made.start(name)
    time.sleep(0.5)
    made.present(made.server("one"), made.server("two"))
    yield made
    made.proxy.remove()
    for process in made.running.values():
        process.kill()
        process.wait()


def test_both_answer_and_a_second_run_changes_nothing(instances):
    instances.load(24).join()
    assert set(instances.answers) == {"one", "two"}
    again = instances.present(instances.server("one"), instances.server("two"))
    assert not again["changed"] and instances.proxy.calls == ["enable", "start"]


def test_an_instance_that_is_not_admitted_gets_no_request(instances):
    done = instances.present(instances.server("one"), instances.server("two", admitted=False))
    assert done["changed"] and "reload" not in instances.proxy.calls
    instances.load(24).join()
    assert set(instances.answers) == {"one"}
    # Nor after a crash of the proxy.
    instances.proxy.close()
    instances.present(instances.server("one"), instances.server("two", admitted=False))
    instances.load(12).join()
    assert set(instances.answers) == {"one"}


def test_what_is_drained_ends_its_requests_and_comes_back(instances):
    load = instances.load(80)
    time.sleep(0.3)
    drained = converge(instances.proxy.options(state="drained", name="n:one", wait=20), instances.proxy, False)
    assert (drained["changed"], drained["in_flight"]) == (True, 0)
    instances.end("one")
    load.join()
    assert set(instances.answers) == {"one", "two"} and sum(instances.answers.values()) == 80
    again = converge(instances.proxy.options(state="drained", name="n:one"), instances.proxy, False)
    assert not again["changed"]
    instances.start("one")
    time.sleep(0.5)
    ready = instances.proxy.options(state="ready", name="n:one", port=instances.port, health_timeout=1)
    assert converge(ready, instances.proxy, False)["changed"]
    instances.load(24).join()
    assert set(instances.answers) == {"one", "two"} and "reload" not in instances.proxy.calls


@pytest.mark.in_turn
def test_requests_of_one_that_is_killed_before_its_first_word_are_answered_by_the_other(instances):
    """Also those whose stream has a head already, and longer ones than haproxy's own buffer holds."""
    load = instances.load(60, size=100_000)
    time.sleep(0.1)
    instances.end("one")
    load.join()
    assert instances.answers["two"] >= 50 and set(instances.answers) <= {"one", "two"}


@pytest.mark.in_turn
def test_one_that_hangs_is_found_and_its_requests_are_answered_by_the_other(instances):
    instances.load(12).join()
    load = instances.load(40)
    time.sleep(0.1)
    instances.running["one"].send_signal(signal.SIGSTOP)
    load.join()
    assert set(instances.answers) <= {"one", "two"} and sum(instances.answers.values()) == 40
    until(lambda: instances.status("one").startswith("DOWN"))
    instances.running["one"].send_signal(signal.SIGCONT)
    until(lambda: instances.status("one") == "UP")


def certificate(directory: Path, name: str) -> dict[str, str]:
    """Of 127.0.0.1, signed by itself, as options."""
    pem, key = directory / f"{name}.pem", directory / f"{name}.key"
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    subject = ["-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    subprocess.run([*made, *subject, "-keyout", str(key), "-out", str(pem)], check=True, capture_output=True)
    return {"certificate": str(pem), "certificate_key": str(key)}


def test_over_tls_it_answers_who_trusts_its_certificate_and_takes_another_one_without_an_end(instances, tmp_path):
    servers = instances.server("one"), instances.server("two")

    def status(trusted: dict[str, str]) -> int:
        context = ssl.create_default_context(cafile=trusted["certificate"])
        connection = http.client.HTTPSConnection("127.0.0.1", instances.port, timeout=20, context=context)
        connection.request("POST", "/v1/completions", json.dumps({"model": "m", "prompt": "x", "stream": True}))
        answer = connection.getresponse()
        assert answer.read().endswith(b"[DONE]\n\n")
        return answer.status

    first, second = certificate(tmp_path, "first"), certificate(tmp_path, "second")
    assert instances.present(*servers, **first)["changed"]
    assert status(first) == 200
    with pytest.raises(ssl.SSLCertVerificationError):
        status(second)
    # Not without it: haproxy says nothing to who speaks plainly.
    assert instances.ask() not in ("one", "two")
    assert instances.present(*servers, **second)["changed"]
    assert status(second) == 200
    assert not instances.present(*servers, **second)["changed"]
    assert "start" not in instances.proxy.calls[2:]


def test_requests_wait_while_there_is_no_instance(instances):
    for name in ("one", "two"):
        converge(instances.proxy.options(state="drained", name=f"n:{name}"), instances.proxy, False)
        instances.end(name)
    load = instances.load(12)
    time.sleep(1.5)
    assert not instances.answers
    instances.start("two")
    time.sleep(0.5)
    converge(
        instances.proxy.options(state="ready", name="n:two", port=instances.port, health_timeout=1),
        instances.proxy,
        False,
    )
    load.join()
    assert instances.answers == {"two": 12}


def test_a_reload_loses_no_request(instances):
    load = instances.load(60)
    time.sleep(0.3)
    instances.present(instances.server("one", max_num_seqs=4), instances.server("two"))
    load.join()
    assert "reload" in instances.proxy.calls and set(instances.answers) == {"one", "two"}


def test_another_model_has_instances_of_its_own(instances):
    instances.present(instances.server("one"), instances.server("two", model="other"))
    instances.load(12).join()
    assert set(instances.answers) == {"one"}


def test_only_what_clients_may_ask_is_answered(instances):
    for path, status in (("/metrics", 404), ("/tokenize", 404), ("/health", 200)):
        connection = http.client.HTTPConnection("127.0.0.1", instances.port, timeout=10)
        connection.request("GET", path)
        assert connection.getresponse().status == status, path


def test_absent_leaves_nothing(instances):
    done = converge(instances.proxy.options(state="absent"), instances.proxy, False)
    assert done["changed"] and instances.proxy.process is None
    assert not list(Path(instances.proxy.places.directory).glob("*.*"))
    assert not converge(instances.proxy.options(state="absent"), instances.proxy, False)["changed"]
