# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The vendor's package names, with the simulator as their content.

Names, versions and where each file lies: docs.habana.ai, pages Installers_Appendix and
Custom_Driver_and_Software_Installation.
"""

from __future__ import annotations

from pathlib import Path

from ..simulator.releases import Release
from . import hlml_library
from .deb import DebPackage, PackagedFile

DKMS_SOURCES = Path(__file__).with_name("dkms")
CARD_GENERATIONS = ("gaudi2", "gaudi3")
SIMULATOR = "/usr/local/sbin/gaudi-simulator"
NOTICE = "Simulated by the sandbox of gaudi3.scale; no vendor software.\n"


def all_packages(release: Release) -> list[DebPackage]:
    """Every package of one release."""
    return [
        dkms(release),
        firmware(release),
        firmware_tools(release),
        firmware_odm(release),
        *libraries(release),
        qual(release),
        qual_workloads(release),
        container_runtime(release),
    ]


def dkms(release: Release) -> DebPackage:
    """The driver's source, which DKMS builds on the node for real."""
    source = f"/usr/src/habanalabs-{release.package}"
    sources = sorted(DKMS_SOURCES.iterdir())
    build = f"/usr/lib/dkms/common.postinst habanalabs {release.package} /usr/share/habanalabs-dkms"
    return DebPackage(
        "habanalabs-dkms",
        release.package,
        "all",
        "Gaudi kernel driver",
        depends=("dkms (>= 2.8)",),
        files={f"{source}/{path.name}": PackagedFile(_for_release(path, release)) for path in sources},
        scripts={
            # As dh_dkms writes it: builds for the running kernel where its headers are, says so where they are not.
            "postinst": _script(f'if [ "$1" = configure ]; then {build} "" "$2"; fi'),
            "prerm": _script(
                f'case "$1" in remove|upgrade|deconfigure)'
                f" dkms remove -m habanalabs -v {release.package} --all || true ;; esac"
            ),
        },
    )


def firmware(release: Release) -> DebPackage:
    """The images that hl-fw-loader writes to the cards."""
    files = {}
    for generation in CARD_GENERATIONS:
        directory = f"/lib/firmware/habanalabs/{generation}"
        text = f"{NOTICE}hl-{generation}-{release.firmware[generation]}\n"
        files[f"{directory}/{generation}-agent-fw_loader-fit.itb"] = PackagedFile(text)
        files[f"{directory}/{generation}-agent-fw_loader-fit_erom.itb"] = PackagedFile(text)
    return DebPackage("habanalabs-firmware", release.package, "amd64", "Gaudi card firmware", files=files)


def firmware_tools(release: Release) -> DebPackage:
    """hl-smi and its library."""
    return DebPackage(
        "habanalabs-firmware-tools",
        release.package,
        "amd64",
        "Gaudi management tools",
        depends=("python3",),
        files={
            "/usr/bin/hl-smi": _launcher("hl-smi", release),
            "/usr/lib/habanalabs/libhlml.so": PackagedFile(hlml_library.library(release.package)),
        },
    )


def firmware_odm(release: Release) -> DebPackage:
    """hl-fw-loader."""
    files = {"/usr/sbin/hl-fw-loader": _launcher("hl-fw-loader", release)}
    return DebPackage("habanalabs-firmware-odm", release.package, "amd64", "Gaudi firmware loader", files=files)


def libraries(release: Release) -> list[DebPackage]:
    """Packages of which only the files' places matter here."""

    def package(name: str, architecture: str, text: str, depends: tuple[str, ...], *paths: str) -> DebPackage:
        needed = tuple(f"{other} (= {release.package})" for other in depends)
        profiles = {path: PackagedFile(lines) for path, lines in profiles_of(name, release).items()}
        files = {**{path: PackagedFile(NOTICE) for path in paths}, **profiles}
        return DebPackage(
            f"habanalabs-{name}",
            release.package,
            architecture,
            text,
            needed,
            files,
            configuration_files=tuple(profiles),
        )

    verbs = "/opt/habanalabs/rdma-core/src/build/lib"
    library = "/usr/lib/habanalabs"
    return [
        package("thunk", "all", "Gaudi user-space driver library", (), f"{library}/libhl-thunk.so"),
        package("rdma-core", "all", "RDMA libraries with the Gaudi provider", (), f"{verbs}/libibverbs.so"),
        package(
            "graph", "amd64", "Gaudi graph compiler and run time", ("habanalabs-thunk", "habanalabs-rdma-core"),
            f"{library}/libSynapse.so", f"{library}/libtpc_kernels.so", f"{library}/libhcl.so", f"{library}/libaeon.so",
            "/opt/habanalabs/engines_fw/README", f"{_plugins(release)}/README",
        ),
    ]  # fmt: skip


def profiles_of(name: str, release: Release) -> dict[str, str]:
    """What a package brings for login shells: names and values as a node of 1.23.0 has them.

    Which package writes which file is unverified. The last lines are such as a reader has to leave out.
    """
    lines: tuple[str, ...]
    if name == "rdma-core":
        lines = (
            "export RDMA_CORE_ROOT=/opt/habanalabs/rdma-core/src",
            "export RDMA_CORE_LIB=${RDMA_CORE_ROOT}/build/lib",
        )
        return {"/etc/profile.d/habanalabs-rdma-core.sh": _profile(*lines)}
    if name == "graph":
        lines = (
            "export GC_KERNEL_PATH=/usr/lib/habanalabs/libtpc_kernels.so",
            "export HABANA_LOGS=/var/log/habana_logs/",
            "export HABANA_SCAL_BIN_PATH=/opt/habanalabs/engines_fw",
            f"export HABANA_PLUGINS_LIB_PATH={_plugins(release)}",
            "export DATA_LOADER_AEON_LIB_PATH=/usr/lib/habanalabs/libaeon.so",
            "export __python_cmd=python3",
            "export LD_LIBRARY_PATH=/usr/lib/habanalabs:$LD_LIBRARY_PATH",
        )
        return {"/etc/profile.d/habanalabs.sh": _profile(*lines)}
    return {}


def qual(release: Release) -> DebPackage:
    """hl_qual, and the script that brings the external ports up."""
    files = {
        f"/opt/habanalabs/qual/{generation}/bin/{program}": _launcher(program, release, generation)
        for generation in CARD_GENERATIONS
        for program in ("hl_qual", "manage_network_ifs.sh")
    }
    return DebPackage(
        "habanalabs-qual",
        release.package,
        "amd64",
        "Gaudi qualification tools",
        depends=(f"habanalabs-graph (= {release.package})",),
        files=files,
    )


def qual_workloads(release: Release) -> DebPackage:
    """The stress plugin of hl_qual."""
    files = {
        f"/opt/habanalabs/qual/{generation}/bin/plugins/resnet50.so": PackagedFile(NOTICE)
        for generation in CARD_GENERATIONS
    }
    needed = (f"habanalabs-qual (= {release.package})",)
    return DebPackage("habanalabs-qual-workloads", release.package, "amd64", "Gaudi stress workloads", needed, files)


def container_runtime(release: Release) -> DebPackage:
    """The OCI runtime wrapper and its tools."""
    configuration = "/etc/habana-container-runtime/config.toml"
    return DebPackage(
        "habanalabs-container-runtime",
        release.package,
        "amd64",
        "Gaudi container runtime",
        files={
            configuration: PackagedFile(RUNTIME_CONFIGURATION),
            "/usr/bin/habana-container-runtime": _launcher("habana-container-runtime", release),
            "/usr/bin/habana-container-runtime-hook": PackagedFile(RUNTIME_HOOK, 0o755),
            "/usr/bin/habana-container-cli": _unsimulated("habana-container-cli", release),
            "/usr/bin/habana-container-toolkit": _unsimulated("habana-container-toolkit", release),
            "/usr/libexec/oci/hooks.d/oci-habana-hook": PackagedFile(RUNTIME_HOOK, 0o755),
            "/usr/share/containers/oci/hooks.d/oci-habana-hook.json": PackagedFile(PODMAN_HOOK),
        },
        configuration_files=(configuration,),
    )


RUNTIME_HOOK = """\
#!/bin/sh
# Simulated: a real hook brings the cards' network interfaces into the container; here there are none.
exec cat > /dev/null
"""

PODMAN_HOOK = """\
{
  "version": "1.0.0",
  "hook": {"path": "/usr/libexec/oci/hooks.d/oci-habana-hook"},
  "when": {"always": true},
  "stages": ["prestart"]
}
"""

# Keys and defaults as in packaging/config.toml of the vendor's runtime, most of them as comments.
RUNTIME_CONFIGURATION = """\
disable-require = false
#accept-habana-visible-devices-envvar-when-unprivileged = true

## Set to false inside Kubernetes with the device plugin.
#mount_accelerators = false

#mount_uverbs = false

#[network-layer-routes]
# path = "/etc/habanalabs/gaudinet.json"

[habana-container-cli]
#path = "/usr/bin/habana-container-cli"
environment = []
log_file = "/var/log/habana-container-hook.log"

[habana-container-runtime]
#visible_devices_all_as_default = true
#log_level = "debug"
#systemd_cgroup = false

## oci, legacy or cdi
# mode = "legacy"
"""


def _launcher(program: str, release: Release, generation: str = "") -> PackagedFile:
    environment = f"HABANALABS_PACKAGE={release.package}"
    if generation:
        environment += f" HABANALABS_QUAL_GENERATION={generation}"
    return PackagedFile(f'#!/bin/sh\n# {NOTICE}{environment} exec {SIMULATOR} {program} "$@"\n', 0o755)


def _unsimulated(program: str, release: Release) -> PackagedFile:
    lines = (
        f'if [ "$1" = --version ]; then echo "{program} {release.package} (simulated)"; exit 0; fi',
        f'echo "{program}: the sandbox does not simulate $*" >&2',
        "exit 1",
    )
    return PackagedFile(_script(*lines), 0o755)


def _plugins(release: Release) -> str:
    """A node of 1.23.0 names the first place, the vendor's images the second; that 1.24 moved is the sandbox's own."""
    old = release.package.startswith("1.23.")
    return "/usr/lib/habanatools/habana_plugins" if old else "/opt/habanalabs/habana_plugins"


def _profile(*lines: str) -> str:
    return "\n".join((f"# {NOTICE.strip()}", *lines, ""))


def _script(*lines: str) -> str:
    return "\n".join(("#!/bin/sh", f"# {NOTICE.strip()}", "set -e", *lines, ""))


def _for_release(source: Path, release: Release) -> str:
    text = source.read_text(encoding="utf-8")
    values = {"@PACKAGE@": release.package, "@DRIVER@": release.driver, "@NIC_DRIVER@": release.nic_driver}
    for name, value in values.items():
        text = text.replace(name, value)
    return text
