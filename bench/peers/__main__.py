"""The same pipelines on penstock and other loaders, each in a separate virtual environment.

python -m bench.peers --setup [PEER...]      make the virtual environments (once; gigabytes) python
-m bench.peers --quick jpeg           penstock and tf.data only, in a minute python -m bench.peers
jpeg shuffle           all peers; saves the results as JSON python -m bench.peers
everything python -m bench.peers --report               write docs/benchmarks.md and its plots from
them
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.peers import environments, offers, report, results, rounds, workloads
from bench.peers.environments import PEERS

RESULTS = environments.ROOT / "bench" / "results" / "peers.json"
QUICK = 2  # rounds


def main() -> int:
    arguments = _parse()
    if arguments.list:
        print(_listing())
        return 0
    if arguments.setup is not None:
        return set_up(arguments.setup or list(PEERS))
    if arguments.report:
        for file in report.write(results.load(arguments.json)):
            print(file)
        return 0
    try:
        return run(arguments)
    except KeyboardInterrupt:
        _say("interrupted; finished workloads are kept")
        return 130


def run(arguments: argparse.Namespace) -> int:
    """Measure, print the tables, and save the results unless the run was a quick one."""
    start = time.monotonic()
    place = rounds.Place.environments()
    if reason := place.missing("penstock"):
        print(f"penstock: {reason}", file=sys.stderr)
        return 1
    peers = arguments.peers or (["tfdata"] if arguments.quick else list(PEERS))
    peers = list(dict.fromkeys(["penstock", "limit", *peers]))
    for name in arguments.workloads or workloads.NAMES:
        cases = list(workloads.load(name).cases)
        cases = cases[:1] if arguments.quick else cases
        repeats = QUICK if arguments.quick else arguments.repeats
        found = rounds.measure(name, cases, peers, repeats, place, _say)
        for peer in found.configurations:
            if not place.missing(peer):
                found.versions[peer] = environments.versions(peer)
        print(report.terminal(found), flush=True)
        if not arguments.quick:
            results.save(arguments.json, [found])
    print(f"\n{rounds.minutes(start)}", file=sys.stderr)
    return 0


def set_up(peers: Sequence[str]) -> int:
    """Create the environments; a failed one does not stop the others."""
    failed = 0
    for owner in dict.fromkeys(PEERS[peer].environment or peer for peer in peers):
        _say(f"{owner} ...")
        try:
            environments.set_up(owner)
        except environments.SetupError as error:
            failed += 1
            print(f"{owner}: missing: {error}", file=sys.stderr)
        else:
            versions = environments.versions(owner)
            print(f"{owner}: " + ", ".join(f"{name} {v}" for name, v in versions.items()))
    return 1 if failed else 0


def _listing() -> str:
    lines = ["workloads:"]
    for name in workloads.NAMES:
        workload = workloads.load(name)
        lines.append(f"  {name:10} {workload.title}: {', '.join(workload.cases)}")
        lines.append(f"  {'':10} {' '.join(offers.offering(name))}")
    lines.append("peers:")
    for peer, entry in PEERS.items():
        lines.append(f"  {peer:10} {entry.title}: {environments.missing(peer) or 'installed'}")
    return "\n".join(lines)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _peers(text: str) -> list[str]:
    names = [name for name in text.split(",") if name]
    if unknown := [name for name in names if name not in PEERS]:
        raise argparse.ArgumentTypeError(f"no peer {unknown[0]!r}; there are: {', '.join(PEERS)}")
    return names


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.peers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = ", ".join(workloads.NAMES)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=f"some of: {names}")
    parser.add_argument("--peers", type=_peers, metavar="A,B", help="beside penstock; default: all")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="rounds (3)")
    parser.add_argument("--quick", action="store_true", help="first case, one peer, two rounds")
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="FILE", help="the results")
    parser.add_argument("--list", action="store_true", help="show workloads and peers")
    parser.add_argument("--report", action="store_true", help="write the page and the plots")
    parser.add_argument("--setup", nargs="*", metavar="PEER", help="make environments")
    arguments = parser.parse_args()
    for name in arguments.workloads:
        if name not in workloads.NAMES:
            parser.error(f"no workload {name!r}; there are: {names}")
    for name in arguments.setup or ():
        if name not in PEERS:
            parser.error(f"no peer {name!r}; there are: {', '.join(PEERS)}")
    if arguments.repeats < 1:
        parser.error(f"--repeats must be >= 1, got {arguments.repeats}")
    return arguments


if __name__ == "__main__":
    sys.exit(main())
