# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Debian's registry of images (docker-registry) on a node, at port 5000, as shell commands."""

from __future__ import annotations

# Without TLS and without the login of Debian's own file, which nobody has an account for: those are a site's matter.
SERVE = """set -e
cat > /etc/docker/registry/config.yml <<'END'
version: 0.1
storage: {filesystem: {rootdirectory: /var/lib/docker-registry}, delete: {enabled: true}}
http: {addr: ":5000"}
END
systemctl restart docker-registry
bash -c 'for _ in $(seq 50); do (: < /dev/tcp/127.0.0.1/5000) 2> /dev/null && break || sleep 0.2; done'
"""
