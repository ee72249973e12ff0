# What the examples of all clouds share: how many nodes there are, what they are called, and who reaches them by SSH.
# The inventory's order, hence the ranks', is that of the names.
terraform {
  required_version = ">= 1.5"
}

variable "cluster_size" {
  description = "How many instances."
  type        = number

  validation {
    condition     = var.cluster_size >= 1 && var.cluster_size <= 64 && floor(var.cluster_size) == var.cluster_size
    error_message = "cluster_size has to be a whole number from 1 to 64."
  }
}

variable "operators" {
  description = "Networks from which SSH is allowed, never 0.0.0.0/0."
  type        = list(string)

  validation {
    condition     = length(var.operators) > 0 && !contains(var.operators, "0.0.0.0/0")
    error_message = "operators has to name networks, and not all of them."
  }
}

output "names" {
  description = "Of each node, in the order of the ranks."
  value       = [for number in range(var.cluster_size) : format("gaudi-%02d", number + 1)]
}

output "operators" {
  description = "The networks, each once."
  value       = toset(var.operators)
}
