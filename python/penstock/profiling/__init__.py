"""Profile a pipeline or a loop, and find its bottleneck.

`watch` starts or observes a run, `demand` computes the costs of each stage from the samples,
`sections` builds the engine's model, `bottleneck` finds the reason, `advice` asks the model which
changes would help, `verdict` writes the summary, `results` contains everything, and `page` writes
it to files. `loops` does the same for loops over loaders and other iterables, by timing ``next``.
"""

from penstock.profiling.loops import LoopProfile
from penstock.profiling.results import Profile
from penstock.profiling.watch import profile, profile_dataset, profile_loop

__all__ = ["LoopProfile", "Profile", "profile", "profile_dataset", "profile_loop"]
