#!/bin/sh
# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
#
# Turns a node of the sandbox into a stand-in for RHEL 9.6, inside that node: there is no RHEL image that the sandbox may
# fetch. dnf, rpm, the versionlock plugin, dkms and the kernel's headers are real, from Debian; what says "RHEL" is
# os-release, dnf.conf as RHEL has it, and a repository "baseos" whose packages are empty: it answers for what Debian's
# packages have put on the node already.
set -eu
kernel=$(cat /etc/gaudi_simulator_kernel)
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
# shellcheck disable=SC2086
apt-get install -qy --no-install-recommends dnf dnf-plugins-core rpm createrepo-c \
    dkms gcc make libelf-dev ethtool lsof numactl pciutils iproute2 "linux-headers-$kernel"

# Debian's rpm keeps a database for each user; RHEL has one for the system.
mkdir -p /etc/rpm
echo '%_dbpath /var/lib/rpm' > /etc/rpm/macros
rpm --initdb
# Debian has this plugin, and has it on; RHEL does not.
sed -i 's/^enabled.*/enabled = 0/' /etc/dnf/plugins/local.conf
rm -f /usr/lib/python3/dist-packages/dnf-plugins/show_leaves.py
cat > /etc/dnf/dnf.conf <<'CONF'
[main]
gpgcheck=1
installonly_limit=3
clean_requirements_on_remove=True
best=True
skip_if_unavailable=False
CONF

baseos=/var/lib/rhel_stand_in
mkdir -p "$baseos"
cat > "$baseos/baseos.spec" <<'SPEC'
Name: rhel-stand-in
Version: 9.6
Release: 1.el9
Summary: Stands for packages of RHEL that the node has from Debian
License: Apache-2.0
BuildArch: noarch
%description
Empty.
%define stand_in() \
%package -n %{1} \
Summary: Stands for %{1} \
%{?2:Provides: %{2}} \
%description -n %{1} \
Empty. \
%files -n %{1} \
%{nil}
SPEC
{
    echo '%stand_in bash /bin/sh'
    echo '%stand_in redhat-release system-release(releasever)=9.6'
    echo '%stand_in dkms dkms=3.1.0'
    for name in gcc make elfutils-libelf-devel kmod ethtool iproute lsof numactl pciutils dnf-plugins-core \
        python3-dnf-plugin-versionlock python3 python3.12 runc podman rdma-core libibverbs librdmacm \
        "kernel-headers" "kernel-devel-$kernel"; do
        echo "%stand_in $name"
    done
} >> "$baseos/baseos.spec"
rpmbuild -bb --quiet --define "_topdir $baseos/build" --define "_rpmdir $baseos" \
    --define '_build_name_fmt %%{NAME}.rpm' "$baseos/baseos.spec"
createrepo_c --quiet "$baseos"
mkdir -p /etc/yum.repos.d
cat > /etc/yum.repos.d/baseos.repo <<CONF
[baseos]
name=Stand-ins for the packages of RHEL
baseurl=file://$baseos
gpgcheck=0
CONF

rm -f /etc/os-release
cat > /etc/os-release <<'CONF'
NAME="Red Hat Enterprise Linux"
VERSION="9.6 (Plow)"
ID="rhel"
ID_LIKE="fedora"
VERSION_ID="9.6"
PLATFORM_ID="platform:el9"
PRETTY_NAME="Red Hat Enterprise Linux 9.6 (Plow)"
CONF
echo 'Red Hat Enterprise Linux release 9.6 (Plow)' > /etc/redhat-release
dnf -q -y install redhat-release bash python3 kmod iproute
