# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The configuration of haproxy (2.4 and newer) in front of instances, as text.

A request passes two proxies of the same process. The inner one chooses an instance of the model that the request
names: the one with the fewest requests in flight, and none beyond what its engine computes at the same time, so that it
waits here, where it can still go elsewhere. It holds an answer back until the first token. The outer one has the whole
request, and asks again where an instance was lost before that, so a client sees neither a lost engine nor a stream that
never began. What has begun cannot be moved.

An engine that hangs accepts requests and says that it is well, so each is asked for a token again and again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .._node.rendered_files import HEADING

# Also of a server in haproxy; a node's name may have dots.
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}:[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
CONNECT_S, CHECK_INTERVAL_S, CHECKS_FAILED = 5, 5, 2
# How often a request is sent again where its instance was lost.
ATTEMPTS = 3
# A text has fewer bytes than this for each of its tokens, also with its quoting; and what else a request has.
BYTES_OF_TOKEN, BYTES_BESIDE, LEAST_BUFFER, MOST_BUFFER = 8, 1 << 14, 1 << 16, 1 << 24
INNER = "inner.sock"
ADMIN = "admin.sock"


@dataclass(frozen=True)
class Server:
    """An instance. ``name`` is NODE:INSTANCE; ``certificate`` what its own has to be, in PEM, "": no TLS.

    Only one that is ``admitted`` gets requests.
    """

    name: str
    model: str
    address: str
    port: int
    max_num_seqs: int
    max_model_len: int
    certificate: str = ""
    admitted: bool = False


@dataclass(frozen=True)
class Places:
    """Files and directories of the proxy."""

    directory: str = "/etc/gaudi3_scale/serving_proxy"
    runtime: str = "/run/gaudi3_scale_serving_proxy"

    @property
    def configuration(self) -> str:
        return f"{self.directory}/haproxy.cfg"

    @property
    def script(self) -> str:
        return f"{self.directory}/instances.lua"

    @property
    def certificate(self) -> str:
        """With its key."""
        return f"{self.directory}/certificate.pem"

    def certificate_of(self, name: str) -> str:
        """That of an instance."""
        return f"{self.directory}/instances/{name.replace(':', '_')}.pem"

    @property
    def state(self) -> str:
        return f"{self.directory}/state.json"

    @property
    def admin(self) -> str:
        return f"{self.runtime}/{ADMIN}"


@dataclass(frozen=True)
class Proxy:
    """``key`` is what instances are asked with when they are checked.

    ``timeout`` are the seconds that a request may wait for an instance, and that one may be silent; ``health_timeout``
    those that one token may take.
    """

    address: str
    port: int
    servers: tuple[Server, ...]
    key: str = ""
    has_tls: bool = False
    timeout: int = 1800
    health_timeout: int = 30
    account: str = "haproxy"


def backends(servers: Sequence[Server]) -> dict[str, str]:
    """Model to its backend, in the order in which models first stand in the list."""
    return {model: f"model-{number}" for number, model in enumerate(dict.fromkeys(one.model for one in servers), 1)}


def backend_of(servers: Sequence[Server], name: str) -> str:
    """``BACKEND/SERVER``, as haproxy's commands name one."""
    return next(f"{backends(servers)[one.model]}/{one.name}" for one in servers if one.name == name)


def configuration(proxy: Proxy, places: Places) -> str:
    """All of it; it has the key, so it is root's alone."""
    lines = [*_general(proxy, places), *_outer(proxy, places), *_inner(proxy, places)]
    for model, name in backends(proxy.servers).items():
        lines += _backend(proxy, places, model, name)
    return "\n".join([*lines, ""])


def _general(proxy: Proxy, places: Places) -> Iterator[str]:
    yield HEADING + ": serving.yml writes it anew."
    yield "global"
    yield "    log stdout format raw local0 info"
    yield f"    user {proxy.account}"
    yield f"    group {proxy.account}"
    # Whoever can write there decides who answers, so: root alone.
    yield f"    stats socket {places.admin} user root group root mode 600 level admin expose-fd listeners"
    yield f"    lua-load {places.script}"
    yield f"    tune.bufsize {buffer_bytes(proxy.servers)}"
    yield "    ssl-default-bind-options ssl-min-ver TLSv1.2"
    yield "defaults"
    yield "    mode http"
    yield "    log global"
    yield "    option dontlognull"
    yield "    option http-no-delay"
    yield "    option idle-close-on-response"
    yield "    option redispatch 1"
    yield "    option abortonclose"
    yield f"    retries {ATTEMPTS}"
    yield f"    timeout connect {CONNECT_S}s"
    yield "    timeout http-request 60s"
    yield "    timeout http-keep-alive 60s"
    for name in ("client", "server", "queue"):
        yield f"    timeout {name} {proxy.timeout}s"


def _outer(proxy: Proxy, places: Places) -> Iterator[str]:
    host = f"[{proxy.address}]" if ":" in proxy.address else proxy.address
    yield "frontend outer"
    yield f"    bind {host}:{proxy.port}" + (f" ssl crt {places.certificate} alpn http/1.1" if proxy.has_tls else "")
    yield "    option httplog"
    # The inner one says which instance it was.
    yield "    option dontlog-normal"
    # For another balancer before this one.
    yield "    monitor-uri /health"
    for name in backends(proxy.servers).values():
        yield f"    monitor fail if {{ nbsrv({name}) eq 0 }}"
    # Metrics, and what an engine answers without a key, are no clients' business.
    yield "    http-request deny deny_status 404 unless { path_beg /v1/ }"
    # It can be sent again only where all of it is here.
    yield "    option http-buffer-request"
    yield "    default_backend again"
    yield "backend again"
    yield "    retry-on conn-failure empty-response 500 502 503"
    yield f"    server inner unix@{places.runtime}/{INNER}"


def _inner(proxy: Proxy, places: Places) -> Iterator[str]:
    names = backends(proxy.servers)
    yield "frontend inner"
    yield "    option httplog"
    yield "    option http-buffer-request"
    yield f"    bind unix@{places.runtime}/{INNER} user root group {proxy.account} mode 660"
    if not names:
        yield "    http-request return status 404 content-type text/plain string 'No instance is set up.'"
        return
    yield "    http-request set-var(txn.model) req.body,json_query('$.model')"
    first, *_others = names.values()
    yield f"    http-request set-var(txn.backend) str({first})"
    for model, name in names.items():
        yield f"    http-request set-var(txn.backend) str({name}) if {{ var(txn.model) -m str {quoted(model)} }}"
    yield "    http-request lua.wait_for_instance"
    yield f"    http-response wait-for-body time {proxy.timeout}s at-least 1"
    # An engine sends the head of a stream at once. Where its first token never came, nothing was answered.
    yield (
        "    http-response return status 503 if { status 200 } { res.hdr(transfer-encoding) -m sub chunked } "
        "{ res.body_len eq 0 }"
    )
    yield "    use_backend %[var(txn.backend)]"


def _backend(proxy: Proxy, places: Places, model: str, name: str) -> Iterator[str]:
    body = json.dumps({"model": model, "prompt": "1", "max_tokens": 1, "temperature": 0})
    sent = ["ver HTTP/1.1", "hdr Host serving", "hdr Content-Type application/json"]
    if proxy.key:
        sent.append(f"hdr Authorization {quoted(f'Bearer {proxy.key}'.replace('%', '%%'))}")
    yield f"backend {name}"
    yield "    balance leastconn"
    yield "    option httpchk"
    yield f"    http-check send meth POST uri /v1/completions {' '.join(sent)} body {quoted(body)}"
    yield "    http-check expect status 200"
    yield f"    timeout check {proxy.health_timeout}s"
    for one in proxy.servers:
        if one.model == model:
            yield _server(one, places)


def _server(one: Server, places: Places) -> str:
    host = f"[{one.address}]" if ":" in one.address else one.address
    words = [f"    server {one.name} {host}:{one.port}"]
    # One seat of the engine is for the check, or an instance that is busy would look like one that hangs.
    words.append(f"maxconn {max(1, one.max_num_seqs - 1)}")
    words.append(f"check inter {CHECK_INTERVAL_S}s fastinter 1s downinter 1s fall {CHECKS_FAILED} rise 1")
    # Who cannot be connected to is out at once, and in again after the next check.
    words.append("observe layer4 error-limit 1 on-error mark-down")
    if one.certificate:
        words.append(f"ssl verify required ca-file {places.certificate_of(one.name)}")
    if not one.admitted:
        words.append("disabled")
    return " ".join(words)


def buffer_bytes(servers: Sequence[Server]) -> int:
    """Room for the longest prompt: a request that does not fit is not sent again."""
    longest = max((one.max_model_len for one in servers), default=0)
    needed = longest * BYTES_OF_TOKEN + BYTES_BESIDE
    size = LEAST_BUFFER
    while size < min(needed, MOST_BUFFER):
        size *= 2
    return size


def quoted(text: str) -> str:
    """One word of the configuration, of printable characters."""
    return "'" + text.replace("'", "'\\''") + "'"


def script(proxy: Proxy) -> str:
    """What haproxy has no words for, in Lua. Its first line is none, and passed over."""
    return f"""{HEADING}: serving.yml writes it anew.
local longest = {proxy.timeout}

local function takes_requests(server)
  local stats = server:get_stats()
  return string.sub(stats.status, 1, 2) == "UP" and tonumber(stats.weight) > 0
end

-- Requests wait here while no instance of their model takes any.
core.register_action("wait_for_instance", {{"http-req"}}, function(txn)
  local backend = core.backends[txn:get_var("txn.backend")]
  local last = core.now().sec + longest
  while core.now().sec < last do
    for _, server in pairs(backend.servers) do
      if takes_requests(server) then
        return
      end
    end
    core.msleep(200)
  end
end)

local function hangs(server)
  local stats = server:get_stats()
  local is_down = string.sub(stats.status, 1, 4) == "DOWN" and tonumber(stats.scur) > 0
  return is_down and string.find(stats.check_status or "", "TOUT")
end

-- An instance that hangs keeps its requests: they are taken from it, and those that have no token are sent elsewhere.
core.register_task(function()
  while true do
    core.msleep(500)
    for name, backend in pairs(core.backends) do
      if string.sub(name, 1, 6) == "model-" then
        for _, server in pairs(backend.servers) do
          if hangs(server) then
            server:shut_sess()
          end
        end
      end
    end
  end
end)
"""
