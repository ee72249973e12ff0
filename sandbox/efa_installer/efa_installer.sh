#!/bin/bash
# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
#
# SIMULATED: stands for Amazon's efa_installer.sh in tests. It has the same options, reads the same env.sh, asks the same
# of its caller, and leaves the same record. What it installs is Debian's libfabric, packed below /opt/amazon/efa.
# It has no kernel module: without --skip-kmod it ends as the real one does where the kernel's headers are missing.

record=/opt/amazon/efa_installed_packages
calls=/var/log/efa-installer-simulated.calls
cut=/run/efa-installer-simulated.cut

say() { printf '%s\n' "$*"; }
stop() { say "Error: $*" >&2; exit 1; }

say "$*" >>"$calls"
[ -f ./env.sh ] || stop "call it from its own directory (simulated)"
. ./env.sh
[ -n "$EFA_INSTALLER_VERSION" ] || stop "env.sh names no version (simulated)"
[ "$(id -u)" = 0 ] || stop "only root can install (simulated)"

options=$(getopt -o dnuylkmg -l debug-packages,no-verify,uninstall,yes,skip-limit-conf,skip-kmod,minimal,enable-gdr -- "$@") ||
    stop "usage: see README (simulated)"
eval set -- "$options"
uninstall='' yes='' limits=1 kmod=1 minimal=''
while [ "$1" != -- ]; do
    case $1 in
        -u|--uninstall) uninstall=1 ;;
        -y|--yes) yes=1 ;;
        -l|--skip-limit-conf) limits='' ;;
        -k|--skip-kmod) kmod='' ;;
        -m|--minimal) minimal=1 ;;
    esac
    shift
done
export DEBIAN_FRONTEND=noninteractive

if [ -z "$yes" ]; then
    say "Continue? (simulated)"
    read -r answer || stop "nobody answers"
    [ "$answer" = y ] || exit 1
fi

if [ -n "$uninstall" ]; then
    [ -f "$record" ] || stop "nothing is installed (simulated)"
    # shellcheck disable=SC2046 # names of packages
    apt-get purge -qy $(grep -v '^#' "$record" | tr ' ' '\n' | cut -d_ -f1) || stop "packages stay (simulated)"
    rm "$record"
    exit 0
fi

say "= EFA installer $EFA_INSTALLER_VERSION (simulated) ="
[ -z "$kmod" ] || stop "the headers of kernel $(uname -r) cannot be installed (simulated)"
files=() names=()
for file in DEBS/*/*.deb; do
    name=$(basename "$file" .deb)
    case $name in
        efa-config*) [ -n "$limits" ] || continue ;;
        libfabric*|efa-profile*) [ -z "$minimal" ] || continue ;;
    esac
    files+=("./$file") names+=("$name")
done
say "== Installing ${names[*]} =="
if [ "${#files[@]}" -gt 0 ]; then
    apt-get update -q && apt-get install -qy --no-install-recommends --reinstall --allow-downgrades "${files[@]}" ||
        stop "packages cannot be installed (simulated)"
fi
if [ -e "$cut" ]; then
    rm "$cut"
    say "the node is about to lose its installer (simulated)"
    kill -KILL $$
fi
mkdir -p /opt/amazon
cat >"$record" <<END
# EFA installer version: $EFA_INSTALLER_VERSION
# Debug packages installed: no
# Packages installed:
${names[*]}
END
say "EFA installation complete. Please logout/login to complete the installation. (simulated)"
