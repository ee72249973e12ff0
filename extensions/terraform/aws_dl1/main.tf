# Instances of DL1 in one placement group, each with four EFA interfaces: docs/clouds.md. First-generation cards.
# Nothing runs at boot but what the image does: the nodes are installed by gaudi3.scale.site.
terraform {
  required_version = ">= 1.5"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.100"
    }
  }
}

variable "cluster_size" {
  description = "How many instances."
  type        = number
}

variable "image" {
  description = "Image of Ubuntu 22.04 with its kernel from the vendor's matrix, as ami-..."
  type        = string
}

variable "subnet" {
  description = "Private subnet of all nodes, as subnet-..."
  type        = string
}

variable "key" {
  description = "Name of the key pair by which Ansible logs in."
  type        = string
}

variable "operators" {
  description = "Networks from which SSH is allowed, never 0.0.0.0/0."
  type        = list(string)
}

variable "instance_type" {
  description = "Not dl2q, whose cards are Qualcomm's."
  type        = string
  default     = "dl1.24xlarge"

  validation {
    condition     = var.instance_type == "dl1.24xlarge"
    error_message = "instance_type has to be dl1.24xlarge: the only one of AWS with Gaudi cards."
  }
}

# Names and limits that all clouds share; the directory has to lie beside this one.
module "nodes" {
  source       = "../nodes"
  cluster_size = var.cluster_size
  operators    = var.operators
}

data "aws_subnet" "nodes" {
  id = var.subnet
}

resource "aws_placement_group" "nodes" {
  name     = "gaudi"
  strategy = "cluster"
}

# EFA speaks past IP, and needs all that comes and goes within the group.
resource "aws_security_group" "nodes" {
  name        = "gaudi"
  description = "Gaudi nodes among themselves, and SSH of the operators"
  vpc_id      = data.aws_subnet.nodes.vpc_id
}

resource "aws_vpc_security_group_ingress_rule" "among" {
  description                  = "All between the nodes"
  security_group_id            = aws_security_group.nodes.id
  referenced_security_group_id = aws_security_group.nodes.id
  ip_protocol                  = "-1"
}

resource "aws_vpc_security_group_egress_rule" "among" {
  description                  = "All between the nodes"
  security_group_id            = aws_security_group.nodes.id
  referenced_security_group_id = aws_security_group.nodes.id
  ip_protocol                  = "-1"
}

resource "aws_vpc_security_group_egress_rule" "packages" {
  description       = "Packages; a site without internet leaves this out"
  security_group_id = aws_security_group.nodes.id
  cidr_ipv4         = "0.0.0.0/0"
  from_port         = 443
  to_port           = 443
  ip_protocol       = "tcp"
}

resource "aws_vpc_security_group_ingress_rule" "ssh" {
  for_each          = module.nodes.operators
  description       = "SSH of the operators"
  security_group_id = aws_security_group.nodes.id
  cidr_ipv4         = each.value
  from_port         = 22
  to_port           = 22
  ip_protocol       = "tcp"
}

resource "aws_network_interface" "efa" {
  count           = 4 * var.cluster_size
  subnet_id       = var.subnet
  security_groups = [aws_security_group.nodes.id]
  interface_type  = "efa"
  tags            = { Name = "${module.nodes.names[floor(count.index / 4)]}-efa${count.index % 4}" }
}

resource "aws_instance" "node" {
  count           = var.cluster_size
  ami             = var.image
  instance_type   = var.instance_type
  key_name        = var.key
  placement_group = aws_placement_group.nodes.id
  ebs_optimized   = true
  monitoring      = true
  tags            = { Name = module.nodes.names[count.index] }

  dynamic "network_interface" {
    for_each = range(4)
    content {
      device_index         = network_interface.value == 0 ? 0 : 1
      network_card_index   = network_interface.value
      network_interface_id = aws_network_interface.efa[4 * count.index + network_interface.value].id
    }
  }

  # A token for each question about the instance: no program on a node gets credentials by one request.
  metadata_options {
    http_endpoint = "enabled"
    http_tokens   = "required"
  }

  root_block_device {
    volume_size = 500
    volume_type = "gp3"
    encrypted   = true
  }
}

output "cluster_endpoints" {
  description = "Private address of each node by its name: what inventories/terraform reads."
  value       = { for node in aws_instance.node : node.tags.Name => node.private_ip }
}

output "master_ip" {
  description = "Private address of the first node, which has rank 0."
  value       = aws_instance.node[0].private_ip
}

output "cluster_size" {
  description = "How many nodes there are."
  value       = length(aws_instance.node)
}

output "instance_type" {
  description = "By which the inventory knows that the nodes have Gaudi cards."
  value       = var.instance_type
}
