output "vpc_id" {
  description = "The network."
  value       = aws_vpc.this.id
}

output "subnet_ids" {
  description = "One private subnet for each zone, in the order of the zones."
  value       = [for zone in var.zones : aws_subnet.private[zone].id]
}

output "s3_prefix_list_id" {
  description = "The addresses of S3, for rules of security groups."
  value       = aws_vpc_endpoint.s3.prefix_list_id
}

output "cidr" {
  description = "Addresses of the network."
  value       = aws_vpc.this.cidr_block
}
