# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The examples of Terraform, and the one for AWS applied by Terraform itself to moto instead of EC2.

``GAUDI_TERRAFORM_PLUGINS`` names a directory with the provider of AWS, as ``terraform init -plugin-dir`` takes it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.ec2.models.instance_types import INSTANCE_TYPES, InstanceType, InstanceTypeBackend

from tests.s3_server import KEY, REGION, SECRET, S3Server

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "extensions" / "terraform"
AWS, IBM, NODES = (EXAMPLES / name / "main.tf" for name in ("aws_dl1", "ibm_gaudi3", "nodes"))
PLUGINS = os.environ.get("GAUDI_TERRAFORM_PLUGINS", "")
TERRAFORM = shutil.which("terraform")
with_provider = pytest.mark.skipif(
    not (PLUGINS and TERRAFORM), reason="no terraform, or no provider in GAUDI_TERRAFORM_PLUGINS"
)
# moto instead of EC2. It has neither placement groups nor a call for detailed monitoring.
OVERRIDE = """
resource "aws_placement_group" "nodes" {{
  count = 0
}}

resource "aws_instance" "node" {{
  placement_group = null
  monitoring      = null
}}

provider "aws" {{
  region                      = "{region}"
  access_key                  = "{key}"
  secret_key                  = "{secret}"
  skip_credentials_validation = true
  skip_metadata_api_check     = true
  skip_requesting_account_id  = true
  max_retries                 = 1
  endpoints {{ ec2 = "{url}" }}
}}
"""


def tried(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    given = {**os.environ, "TF_CLI_CONFIG_FILE": os.devnull, "CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1"}
    return subprocess.run(["terraform", *command], cwd=folder, env=given, capture_output=True, text=True, check=False)


def ran(folder: Path, *command: str) -> str:
    """What Terraform prints."""
    done = tried(folder, *command)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def copied(example: Path, directory: Path) -> Path:
    """The directory of the example in a copy of all, as the handbook has it."""
    ignored = shutil.ignore_patterns(".terraform*", "*.tfstate*")
    return shutil.copytree(EXAMPLES, directory / "servers", ignore=ignored) / example.parent.name


def applied_to(server: S3Server, folder: Path, network: str, subnet: str, nodes: int) -> tuple[Path, Any]:
    """The copy of the example for AWS once it is applied, whose instances have addresses of ``subnet``; and a client of
    EC2 that sees them."""
    # Not every version of moto knows the type; p4d is as large, and has EFA too.
    if "dl1.24xlarge" not in INSTANCE_TYPES:
        INSTANCE_TYPES["dl1.24xlarge"] = {**INSTANCE_TYPES["p4d.24xlarge"], "InstanceType": "dl1.24xlarge"}
        InstanceTypeBackend.instance_types.append(InstanceType("dl1.24xlarge"))
    credentials = {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET, "region_name": REGION}
    client = boto3.client("ec2", endpoint_url=server.url, **credentials)
    vpc = client.create_vpc(CidrBlock=network)["Vpc"]["VpcId"]
    made = client.create_subnet(VpcId=vpc, CidrBlock=subnet)["Subnet"]["SubnetId"]
    client.create_key_pair(KeyName="operator")
    (folder / "moto_override.tf").write_text(OVERRIDE.format(region=REGION, key=KEY, secret=SECRET, url=server.url))
    given = {"cluster_size": nodes, "image": "ami-12c6146b", "subnet": made, "key": "operator"}
    given["operators"] = json.dumps(["192.0.2.0/24"])
    ran(folder, "init", "-input=false", f"-plugin-dir={PLUGINS}")
    ran(folder, "apply", "-input=false", "-auto-approve", *(f"-var={name}={value}" for name, value in given.items()))
    return folder, client
