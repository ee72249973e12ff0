# Instances with eight Gaudi 3 cards on IBM Cloud: docs/clouds.md. The offer is for selected customers and needs a quota.
# IBM documents no network between the cards of two instances: ranks on several of them use the instances' own network.
# Nothing runs at boot but what the image does: the nodes are installed by gaudi3.scale.site.
terraform {
  required_version = ">= 1.5"
  required_providers {
    ibm = {
      source = "IBM-Cloud/ibm"
      # Since 1.87 a rule of a security group has its protocol and ports as arguments.
      version = "~> 1.87"
    }
  }
}

variable "cluster_size" {
  description = "How many instances."
  type        = number
}

variable "region" {
  description = "Region with the profile."
  type        = string

  validation {
    condition     = contains(["us-east", "us-south", "eu-de"], var.region)
    error_message = "region has to be us-east, us-south or eu-de: IBM lists no other with Gaudi 3 cards."
  }
}

variable "image" {
  description = "ID of an image with a system and kernel from the vendor's matrix."
  type        = string
}

variable "subnet" {
  description = "ID of the subnet of all nodes, in a zone that has the profile."
  type        = string
}

variable "key" {
  description = "ID of the SSH key by which Ansible logs in."
  type        = string
}

variable "operators" {
  description = "Networks from which SSH is allowed, never 0.0.0.0/0."
  type        = list(string)
}

variable "instance_type" {
  description = "The profile."
  type        = string
  default     = "gx3d-160x1792x8gaudi3"

  validation {
    condition     = var.instance_type == "gx3d-160x1792x8gaudi3"
    error_message = "instance_type has to be gx3d-160x1792x8gaudi3: the only profile with Gaudi cards."
  }
}

# Names and limits that all clouds share; the directory has to lie beside this one.
module "nodes" {
  source       = "../nodes"
  cluster_size = var.cluster_size
  operators    = var.operators
}

# The key of the API is in IC_API_KEY, never in this file.
provider "ibm" {
  region = var.region
}

data "ibm_is_subnet" "nodes" {
  identifier = var.subnet
}

resource "ibm_is_security_group" "nodes" {
  name = "gaudi"
  vpc  = data.ibm_is_subnet.nodes.vpc
}

# Without a protocol a rule allows ICMP, TCP and UDP.
resource "ibm_is_security_group_rule" "among" {
  for_each  = toset(["inbound", "outbound"])
  group     = ibm_is_security_group.nodes.id
  direction = each.value
  remote    = ibm_is_security_group.nodes.id
}

# IBM's own resolvers, clocks and package mirrors, which a security group does not exempt.
resource "ibm_is_security_group_rule" "services" {
  group     = ibm_is_security_group.nodes.id
  direction = "outbound"
  remote    = "161.26.0.0/16"
}

# Packages; a site without internet leaves this out.
resource "ibm_is_security_group_rule" "packages" {
  group     = ibm_is_security_group.nodes.id
  direction = "outbound"
  remote    = "0.0.0.0/0"
  protocol  = "tcp"
  port_min  = 443
  port_max  = 443
}

resource "ibm_is_security_group_rule" "ssh" {
  for_each  = module.nodes.operators
  group     = ibm_is_security_group.nodes.id
  direction = "inbound"
  remote    = each.value
  protocol  = "tcp"
  port_min  = 22
  port_max  = 22
}

resource "ibm_is_instance" "node" {
  count   = var.cluster_size
  name    = module.nodes.names[count.index]
  image   = var.image
  profile = var.instance_type
  keys    = [var.key]
  vpc     = data.ibm_is_subnet.nodes.vpc
  zone    = data.ibm_is_subnet.nodes.zone

  primary_network_interface {
    subnet          = var.subnet
    security_groups = [ibm_is_security_group.nodes.id]
  }

  # The largest that IBM documents. Checkpoints and data belong on the eight NVMe disks, or elsewhere.
  boot_volume {
    size = 250
  }
}

output "cluster_endpoints" {
  description = "Private address of each node by its name: what inventories/terraform reads."
  value = {
    for node in ibm_is_instance.node : node.name => node.primary_network_interface[0].primary_ip[0].address
  }
}

output "master_ip" {
  description = "Private address of the first node, which has rank 0."
  value       = ibm_is_instance.node[0].primary_network_interface[0].primary_ip[0].address
}

output "cluster_size" {
  description = "How many nodes there are."
  value       = length(ibm_is_instance.node)
}

output "instance_type" {
  description = "By which the inventory knows that the nodes have Gaudi cards."
  value       = var.instance_type
}
