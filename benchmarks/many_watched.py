# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Whether one Prometheus with this collection's rules keeps up with hundreds of nodes on the processors that are here.

    .venv/bin/python -m benchmarks.many_watched --nodes 512 --minutes 5

Makes a sandbox of its own, takes what one node's collectors tell, adds what a node exporter says of 160 threads, and
has a server of plain HTTP tell it under as many names on the machine that watches. Prometheus, its rules and its
intervals are the real ones; TLS, the network and values that change are not there.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from benchmarks.watched import OTHER, SERVER, watched

PORT, OWN_PORT = 9300, 9390
INTERVAL_S = 10.0
PLACE = "/run/many"
# Tells the same text at each path.
TELLS = f"""
import http.server

TEXT = open("{PLACE}/metrics", "rb").read()

class Node(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *words):
        pass
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(TEXT)))
        self.end_headers()
        self.wfile.write(TEXT)

http.server.ThreadingHTTPServer(("127.0.0.1", {PORT}), Node).serve_forever()
"""
# Beside ours, with our rules and our interval; nothing is kept.
RUNS = f"""
import json, sys
nodes = int(sys.argv[1])
ours = open("/etc/gaudi3_scale/monitoring/prometheus.yml").read()
config = json.loads(ours.partition("\\n")[2])
config["rule_files"] = ["/etc/gaudi3_scale/monitoring/rules/*.yml"]
config["alerting"] = {{}}
told = [
    {{"targets": ["127.0.0.1:{PORT}"], "labels": {{"instance": f"node{{n}}", "__metrics_path__": f"/{{n}}"}}}}
    for n in range(nodes)
]
config["scrape_configs"] = [
    {{"job_name": "gaudi", "static_configs": told}},
    {{"job_name": "itself", "static_configs": [{{"targets": ["127.0.0.1:{OWN_PORT}"]}}]}},
]
open("{PLACE}/prometheus.yml", "w").write(json.dumps(config))
"""
# By far the most of a node exporter's series on a server of 160 threads.
MODES = ("idle", "iowait", "irq", "nice", "softirq", "steal", "system", "user")
ASK = f"""
import json, sys, urllib.parse, urllib.request
query = urllib.parse.urlencode({{"query": sys.argv[1]}})
print(json.load(urllib.request.urlopen(f"http://127.0.0.1:{OWN_PORT}/api/v1/query?{{query}}"))["data"]["result"][0]["value"][1])
"""


def main() -> int:
    """Print what it costs; returns 1 where a group of rules took longer than its interval, or one was left out."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--nodes", type=int, nargs="+", default=[32, 512], help="how many (default 32 and 512)")
    options.add_argument("--minutes", type=float, default=5, help="for which each is watched (default 5)")
    given = options.parse_args()
    with watched() as nodes:
        host = nodes[SERVER]
        prepare(nodes)
        print(" ".join(COLUMNS), flush=True)
        kept = [measure(host, number, given.minutes * 60) for number in given.nodes]
    return int(not all(kept))


def prepare(nodes: Any) -> None:
    """What one node tells, where it is told under many names."""
    text = nodes[OTHER].check_output("cat /var/lib/prometheus/node-exporter/*.prom")
    more = "".join(f'node_cpu_seconds_total{{cpu="{cpu}",mode="{mode}"}} 1\n' for cpu in range(160) for mode in MODES)
    host = nodes[SERVER]
    host.check_output(f"mkdir -p {PLACE}")
    host.check_output(f"cat > {PLACE}/metrics <<'END'\n{text}\n{more}END")
    host.check_output(f"cat > {PLACE}/tells.py <<'END'\n{TELLS}END")
    host.check_output(f"systemd-run --unit many-nodes python3 {PLACE}/tells.py")


def measure(host: Any, number: int, seconds: float) -> bool:
    """One row of the table; whether Prometheus kept up."""
    host.check_output("python3 -c %s %s", RUNS, str(number))
    program = f"prometheus --config.file={PLACE}/prometheus.yml --web.listen-address=127.0.0.1:{OWN_PORT}"
    host.check_output(f"systemd-run --unit many-watched {program} --storage.tsdb.path={PLACE}/data-{number}")
    try:
        time.sleep(seconds)
        told = {name: asked(host, query) for name, query in questions(int(seconds)).items()}
    finally:
        host.check_output("systemctl stop many-watched")
    print(" ".join(f"{told[name]:{len(name)}.{places}f}" for name, places in COLUMNS.items()), flush=True)
    return told["rules, worst (s)"] < INTERVAL_S and not told["missed"] and told["heard"] == number


# Column -> digits behind the point.
COLUMNS = {
    "nodes": 0,
    "heard": 0,
    "  series": 0,
    "rules, worst (s)": 2,
    "missed": 0,
    "scrape, worst (s)": 2,
    "processors": 2,
    "   MiB": 0,
}


def questions(seconds: int) -> dict[str, str]:
    """Column -> what Prometheus is asked of itself."""
    return {
        "nodes": 'count(up{job="gaudi"})',
        "heard": 'sum(up{job="gaudi"})',
        "  series": "prometheus_tsdb_head_series",
        "rules, worst (s)": f"max(max_over_time(prometheus_rule_group_last_duration_seconds[{seconds}s]))",
        "missed": "sum(prometheus_rule_group_iterations_missed_total)",
        "scrape, worst (s)": f'max(max_over_time(scrape_duration_seconds{{job="gaudi"}}[{seconds}s]))',
        "processors": f"process_cpu_seconds_total / {seconds}",
        "   MiB": "process_resident_memory_bytes / 1048576",
    }


def asked(host: Any, query: str) -> float:
    return float(host.check_output("python3 -c %s %s", ASK, query))


if __name__ == "__main__":
    sys.exit(main())
