#!/bin/sh
# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
#
# Turns a fresh root directory ($1) with the packages of sandbox/image/packages.txt into a sandbox node.
# Runs while apt's package lists are still there: the newest kernel of the distribution is looked up in them.
set -eu
root=${1%/}
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

cp -R --no-preserve=all "$here/files/." "$root/"
chmod 0440 "$root/etc/sudoers.d/operator"
chmod 0755 "$root/usr/local/lib/gaudi_sandbox/runc"

# Debian has a system group of this name already; the user joins it.
group=--user-group
if grep -q '^operator:' "$root/etc/group"; then group='--gid operator'; fi
# shellcheck disable=SC2086
chroot "$root/" useradd --create-home --shell /bin/bash $group operator
mkdir -p "$root/etc/ssh/authorized_keys.d" "$root/etc/modules-load.d" "$root/var/lib/gaudi_simulator"

# The hardware and what only a kernel can do is simulated; the sandbox mounts the simulator into every node.
launcher=/usr/local/sbin/gaudi-simulator
cat > "$root$launcher" <<'LAUNCHER'
#!/bin/sh
# Starts the simulator; called by another name (modprobe, lspci, ...) it plays that program.
program=${0##*/}
if [ "$program" = gaudi-simulator ]; then program=$1; shift; fi
PYTHONPATH=/usr/lib/gaudi_simulator exec /usr/bin/python3 -P -m gaudi_simulator "$program" "$@"
LAUNCHER
if ! chroot "$root/" /usr/bin/python3 -P -c '' 2> /dev/null; then sed -i 's/python3 -P /python3 /' "$root$launcher"; fi
chmod 0755 "$root$launcher"
for program in modprobe rmmod lsmod modinfo lspci update-grub; do
    ln -s "$launcher" "$root/usr/local/bin/$program"
done

case $(. "$root/etc/os-release" && echo "$ID") in
    ubuntu) headers=linux-headers-generic ;;
    *) headers=linux-headers-$(chroot "$root/" dpkg --print-architecture) ;;
esac
chroot "$root/" apt-cache depends --important "$headers" |
    sed -n 's/^ *Depends: linux-headers-\([0-9].*\)$/\1/p' | head -n 1 > "$root/etc/gaudi_simulator_kernel"
if [ ! -s "$root/etc/gaudi_simulator_kernel" ]; then
    echo "no kernel release found in the dependencies of $headers" >&2
    exit 1
fi

# What the first boot makes for each node anew.
rm -f "$root"/etc/ssh/ssh_host_* "$root/etc/machine-id" "$root/var/lib/dbus/machine-id"
: > "$root/etc/machine-id"
for unit in ssh ssh-host-keys gaudi-simulated-kernel; do
    systemctl --root "$root/" --quiet enable "$unit.service"
done
systemctl --root "$root/" --quiet enable gaudi-simulated-state.path
