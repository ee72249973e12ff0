# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The proxy's configuration as text, what cannot be meant, and what a reload is not needed for."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.plugins.module_utils._serving import proxy
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.proxy import (
    LEAST_BUFFER,
    MOST_BUFFER,
    Places,
    Proxy,
    Server,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.proxy_options import ProxyOptions, parse_servers
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.proxy_state import converge, read_servers

ONE = Server("gaudi-01:chat", "llama", "10.0.0.11", 8000, 64, 4096, admitted=True)
TWO = replace(ONE, name="gaudi-02:chat", address="10.0.0.12")
ROW = {
    "node": "gaudi-01",
    "name": "chat",
    "url": "http://10.0.0.11:8000",
    "served_name": "llama",
    "max_num_seqs": 64,
    "max_model_len": 4096,
}


def text(*servers, **more):
    return proxy.configuration(Proxy("127.0.0.1", 8080, servers, **more), Places())


def line_of(name, found):
    return next(line for line in found.splitlines() if line.startswith(f"    server {name} "))


def test_one_seat_is_for_the_check():
    assert " maxconn 63 " in line_of("gaudi-01:chat", text(ONE))
    assert " maxconn 1 " in line_of("gaudi-01:chat", text(replace(ONE, max_num_seqs=1)))


def test_who_is_not_admitted_is_switched_off():
    found = text(ONE, replace(TWO, admitted=False))
    assert not line_of(ONE.name, found).endswith(" disabled")
    assert line_of(TWO.name, found).endswith(" disabled")


def test_an_instance_with_tls_has_to_have_its_own_certificate():
    found = text(replace(ONE, certificate="-----BEGIN CERTIFICATE-----\n"))
    assert line_of(ONE.name, found).endswith(
        "ssl verify required ca-file /etc/gaudi3_scale/serving_proxy/instances/gaudi-01_chat.pem"
    )


def test_each_model_has_its_own_instances():
    found = text(ONE, replace(TWO, model="it's another"))
    assert "backend model-1" in found and "backend model-2" in found
    assert r"""str(model-2) if { var(txn.model) -m str 'it'\''s another' }""" in found


def test_a_key_is_one_word_whatever_is_in_it():
    assert r"hdr Authorization 'Bearer a%%b'\''c'" in text(ONE, key="a%b'c")


@pytest.mark.parametrize(
    ("length", "size"), [(0, LEAST_BUFFER), (4096, LEAST_BUFFER), (131_072, 2 << 20), (1 << 24, MOST_BUFFER)]
)
def test_the_longest_prompt_fits_into_a_buffer(length, size):
    assert proxy.buffer_bytes([replace(ONE, max_model_len=length)]) == size


def test_no_instance_is_an_answer_too():
    assert "No instance is set up." in text()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"node": "a b"}, "is not a name that the proxy can have"),
        ({"url": "10.0.0.11:8000"}, "url is '10.0.0.11:8000'; give such as http://10.0.0.11:8000"),
        ({"url": "http://10.0.0.11"}, "url is"),
        ({"url": "http://10.0.0.11:99999"}, "url is"),
        ({"url": "http://127.0.0.1:8000"}, "answers at 127.0.0.1, and the proxy runs on front; give the instance an"),
        ({"url": "http://localhost:8000"}, "answers at localhost"),
        ({"url": "https://10.0.0.11:8000"}, "an https URL and a certificate belong together"),
        ({"certificate": "x"}, "an https URL and a certificate belong together"),
        ({"served_name": "a\nb"}, "served_name is 'a\\nb'"),
    ],
)
def test_an_instance_that_cannot_be_meant_is_one_sentence(wrong, said):
    with pytest.raises(GaudiError) as raised:
        parse_servers([{**ROW, **wrong}], "front")
    assert said in str(raised.value) and str(raised.value).count(". ") == 0


def test_an_instance_stands_in_the_list_once():
    with pytest.raises(GaudiError, match="instances has gaudi-01:chat twice"):
        parse_servers([ROW, ROW], "front")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"address": "everywhere"}, "address is 'everywhere'; give an address of this host"),
        ({"address": "10.0.0.2"}, "the proxy would answer at 10.0.0.2, where everyone in the network could ask it"),
        ({"address": "0.0.0.0", "key_file": "/k"}, "where everyone in the network could ask it"),
        ({"certificate": "/c"}, "certificate and certificate_key belong together"),
        ({"port": 0}, "port"),
        ({"timeout": 0}, "timeout is 0; give seconds from 1 to 86400"),
        ({"health_timeout": 0}, "health_timeout is 0; give seconds"),
        ({"state": "drained"}, "state is drained, and name is empty; give the instance as NODE:INSTANCE"),
        ({"state": "ready", "name": "gaudi-09:chat"}, "the proxy has no instance gaudi-09:chat; it has none"),
        ({"key_file": "/nowhere/key"}, "key_file /nowhere/key cannot be read on this node"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_touched(tmp_path, wrong, said):
    places = Places(str(tmp_path / "etc"), str(tmp_path / "run"))
    options = ProxyOptions(
        **{"instances": (ONE,), "places": places, "unit_directory": str(tmp_path / "units"), **wrong}
    )
    with pytest.raises(GaudiError) as raised:
        converge(options, nothing_runs, False)
    assert said in str(raised.value)
    assert not list(tmp_path.iterdir())


def nothing_runs(argv, *, timeout=None, env=None):
    return CommandResult(3, "", "")


def test_a_configuration_that_haproxy_refuses_is_not_written(tmp_path):
    def run(argv, *, timeout=None, env=None):
        said = "[ALERT] (1) : config : parsing [x:1] : unknown keyword.\n[ALERT] (1) : config : Fatal errors found."
        return CommandResult(1, "", said) if argv[0] == "/usr/sbin/haproxy" else CommandResult(3, "", "")

    places = Places(str(tmp_path / "etc"), str(tmp_path / "run"))
    options = ProxyOptions(instances=(ONE,), places=places, unit_directory=str(tmp_path / "units"))
    with pytest.raises(GaudiError, match=r"haproxy refuses its configuration: parsing \[x:1\] : unknown keyword"):
        converge(options, run, False)
    assert not (tmp_path / "etc").exists()


def test_instances_of_nodes_that_said_nothing_stay_as_they_are(tmp_path):
    places = Places(str(tmp_path / "etc"), str(tmp_path / "run"))
    options = ProxyOptions(instances=(ONE, TWO), places=places, unit_directory=str(tmp_path / "units"))

    def run(argv, *, timeout=None, env=None):
        is_question = argv[0] == "systemctl" and argv[1].startswith("is-")
        return CommandResult(3 if is_question else 0, "", "")

    converge(options, run, False)
    assert read_servers(places) == (ONE, TWO)
    converge(replace(options, instances=(ONE,), keep_nodes=("gaudi-02",)), run, False)
    assert read_servers(places) == (ONE, TWO)
    shown = converge(replace(options, instances=(ONE,)), run, True)
    assert shown["changed"] and read_servers(places) == (ONE, TWO)
    converge(replace(options, instances=(ONE,)), run, False)
    assert read_servers(places) == (ONE,)
    (tmp_path / "etc" / "state.json").write_text(json.dumps({"servers": [{"name": "x"}, 3]}))
    assert read_servers(places) == ()


def test_the_key_is_in_no_diff(tmp_path):
    (tmp_path / "key").write_text("a-secret-key\n")
    places = Places(str(tmp_path / "etc"), str(tmp_path / "run"))
    options = ProxyOptions(
        instances=(ONE,), places=places, unit_directory=str(tmp_path / "units"), key_file=str(tmp_path / "key")
    )
    shown = converge(options, nothing_runs, True)
    assert "a-secret-key" not in json.dumps(shown)
