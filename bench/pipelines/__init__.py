"""End-to-end speed of pipelines as users write them, each compared with a limit."""
