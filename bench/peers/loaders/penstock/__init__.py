"""penstock, as its guides advise."""
