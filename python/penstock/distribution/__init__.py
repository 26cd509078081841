"""Distribution of a pipeline's work to other workers: leases, and the engines that run them."""
