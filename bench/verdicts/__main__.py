"""Measure how often a profile names the planted stage and kind, and the errors of its predictions.

python -m bench.verdicts                  200 pipelines, about ten minutes
python -m bench.verdicts --count 24       fewer
python -m bench.verdicts --seed 17 -v     one of them, with the profile's output
python -m bench.verdicts --first 48 --count 48 --keep FILE
                                          some of them; FILE accumulates the outcomes of all runs,
                                          and the table covers them all

Advice that can be applied here (another number of calls, a larger buffer, a prefetch) is applied,
and the resulting rate is compared with the predicted one.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import statistics
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import penstock as ps
from bench.spread import lay_out
from bench.verdicts.planted import KINDS, Planted, calibrate, plant

STAGES, SHARE_OF_KINDS, OFF = (
    0.95,
    0.90,
    0.15,
)  # required rates, maximum prediction error
_CALLS = re.compile(r"""map\(.*num_parallel_calls=(\d+)(, executor="process")?\)""")
_AHEAD = re.compile(r"prefetch\((\d+)\)")


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The findings of the profile of one pipeline."""

    seed: int
    planted: str  # the kind
    found: str  # the kind
    kind: bool  # whether the kind is right
    stage: bool  # whether the stage is right
    off: float | None  # relative error of the prediction; None if no advice could be applied


def main() -> None:
    """Profile the pipelines and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=200, help="how many pipelines (200)")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="only this one")
    parser.add_argument("--seconds", type=float, default=1.5, help="of each profile (1.5)")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="add the outcomes to a file")
    parser.add_argument("-v", "--verbose", action="store_true", help="print what profiles say")
    args = parser.parse_args()
    seeds = range(args.first, args.first + args.count) if args.seed is None else [args.seed]
    kept = _kept(args.keep) if args.keep else {}
    calibrate()
    for seed in ps.progress(seeds, "verdicts"):
        kept[seed] = outcome = _outcome(seed, args.seconds, args.verbose)
        if args.keep:
            with args.keep.open("a") as file:
                print(json.dumps(dataclasses.asdict(outcome)), file=file)
    _print(kept.values())


def _kept(file: Path) -> dict[int, Outcome]:
    """Return the last outcome of each seed in a file that an earlier run wrote."""
    lines = file.read_text().splitlines() if file.exists() else []
    outcomes = [Outcome(**json.loads(line)) for line in lines]
    return {outcome.seed: outcome for outcome in outcomes}


def _outcome(seed: int, seconds: float, verbose: bool) -> Outcome:
    planted = plant(seed)
    profile = planted.dataset.profile(seconds, planted.step)
    found = profile.bottleneck
    stage = planted.function in ("", found.function)
    kind = found.kind in (planted.kind, planted.as_well)
    error = _off(planted, profile, seconds)
    if verbose or not (stage and kind):
        beside = "" if error is None else f"; prediction off by {error:+.0%}"
        print(f"seed {seed}, {planted.kind}: {found.kind} {found.function}{beside}")
    if verbose:
        print(profile)
    return Outcome(seed, planted.kind, found.kind, kind, stage, error)


def _off(planted: Planted, profile: ps.Profile, seconds: float) -> float | None:
    """Return the relative error of the best applicable advice."""
    for advice in profile.advice:
        changed = _applied(planted, advice)
        if changed is not None:
            got = changed.profile(seconds, planted.step)
            return float(advice.rate / got.rate - 1)
    return None


def _applied(planted: Planted, advice: Any) -> ps.Dataset | None:
    ahead = _AHEAD.fullmatch(advice.change)
    if ahead and advice.stage == "":
        return planted.dataset.prefetch(int(ahead[1]))
    calls = _CALLS.fullmatch(advice.change)
    if ahead or calls:
        return _rebuilt(planted.dataset, advice.stage, ahead, calls)
    return None


def _rebuilt(dataset: Any, path: str, ahead: Any, calls: Any) -> ps.Dataset:
    """Return the dataset with one stage changed and all others rebuilt unchanged."""
    if path == "0":
        before = dataset._inputs[0]
        if ahead:
            return before.prefetch(int(ahead[1])).with_options(dataset.options())
        executor = "process" if calls[2] else None
        return before.map(
            dataset._args["map_func"], num_parallel_calls=int(calls[1]), executor=executor
        )
    inner = _rebuilt(dataset._inputs[0], path.removeprefix("0."), ahead, calls)
    made = inner._then(dataset._kind, name=dataset._name, **dataset._args)
    return made.with_options(dataset.options())


def _print(outcomes: Iterable[Outcome]) -> None:
    right: dict[str, list[tuple[bool, bool]]] = {kind: [] for kind in KINDS}
    taken: Counter[tuple[str, str]] = Counter()
    off = []
    for each in outcomes:
        right[each.planted].append((each.stage, each.kind))
        taken[each.planted, each.found] += 1
        off += [] if each.off is None else [abs(each.off)]
    rows = [["planted", "pipelines", "right stage", "right kind", "found instead"]]
    for kind, each_kind in right.items():
        if not each_kind:
            continue
        others = {found: n for (real, found), n in taken.items() if real == kind and found != kind}
        rows.append([kind, str(len(each_kind)), *_shares(each_kind), str(others or "")])
    every = [one for each_kind in right.values() for one in each_kind]
    rows.append(["all", str(len(every)), *_shares(every), ""])
    print(lay_out(rows))
    stages, kinds = (sum(one[i] for one in every) / len(every) for i in range(2))
    print(f"right stage {stages:.1%} ({STAGES:.0%}); kind {kinds:.1%} ({SHARE_OF_KINDS:.0%})")
    if off:
        middle = statistics.median(off)
        print(f"predictions off by {middle:.1%} (median of {len(off)}; asked for {OFF:.0%})")


def _shares(each: list[tuple[bool, bool]]) -> list[str]:
    return [f"{sum(one[i] for one in each) / len(each):.0%}" for i in range(2)]


if __name__ == "__main__":
    main()
