"""What slows a pipeline down: watched, judged and said in words.

`watch` runs or accompanies a run, `demand` turns what was sampled into what each stage takes,
`sections` into the model of the engine, `bottleneck` finds the reason, `advice` asks the model what
would help, `verdict` says it, `results` holds it all, and `page` writes it to files. `loops` does
the same for loops over loaders and other iterables, whose ``next`` is timed.
"""

from penstock.profiling.loops import LoopProfile
from penstock.profiling.results import Profile
from penstock.profiling.watch import profile, profile_dataset, profile_loop

__all__ = ["LoopProfile", "Profile", "profile", "profile_dataset", "profile_loop"]
