"""Pipelines whose elements other workers make: leases, and the engines that carry them."""
