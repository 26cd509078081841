"""Profiles: measure a pipeline or a loop, and find its bottleneck.

`watch` makes or observes a run, `demand` turns the samples into the costs of each stage,
`sections` into the model of the engine, `bottleneck` finds the reason, `advice` asks the model what
would help, `verdict` writes the summary, `results` holds everything, and `page` writes it to files.
`loops` does the same for loops over loaders and other iterables, whose ``next`` is timed.
"""

from penstock.profiling.loops import LoopProfile
from penstock.profiling.results import Profile
from penstock.profiling.watch import profile, profile_dataset, profile_loop

__all__ = ["LoopProfile", "Profile", "profile", "profile_dataset", "profile_loop"]
