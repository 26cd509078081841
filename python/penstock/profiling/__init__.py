"""What slows a pipeline down: watched, judged and said in words.

`watch` runs or accompanies a run, `demand` turns what was sampled into what each stage takes,
`sections` into the model of the engine, `bottleneck` finds the reason, `advice` asks the model what
would help, `verdict` says it, `results` holds it all, and `page` writes it to files.
"""

from penstock.profiling.results import Profile
from penstock.profiling.watch import profile, profile_dataset

__all__ = ["Profile", "profile", "profile_dataset"]
