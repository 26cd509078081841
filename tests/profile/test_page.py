"""A profile as a page, a trace and a picture: of invented data, looked at in a browser."""

import json
import random
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

from penstock.profile import page
from penstock.profile.page.colours import DARK, LIGHT
from penstock.profile.page.words import DOINGS, stage_label, thread_labels

EVIL = "</script><script>alert(1)"


def stage(path, kind, inputs=(), **others):
    zero = dict.fromkeys(
        [
            *("busy_seconds", "cpu_seconds", "gil_seconds", "gil_wait_seconds"),
            *("blocked_seconds", "wait_input_seconds", "wait_room_seconds"),
        ],
        0.25,
    )
    calls = {"call_p50": 0.004, "call_p90": 0.0071, "call_p99": 0.012, "call_max": 0.031}
    return {
        **{"path": path, "kind": kind, "name": None, "function": None, "inputs": list(inputs)},
        **{"section": 0, "elements": 1234, "bytes": 185_000_000, "rate": 246.8},
        **zero,
        **calls,
        **{"buffer_size": None, "buffer_limit": None, "parallelism": 0},
        **others,
    }


def spans_of(rng, seconds, count, doings, paths):
    """Return spans that follow one another, with idle time between some of them."""
    weights = [rng.random() + 0.05 for _ in range(count)]
    unit = seconds / sum(weights)
    spans, now = [], 0.0
    for number, weight in enumerate(weights):
        end = now + weight * unit
        doing = rng.choices(list(doings), list(doings.values()))[0]
        if doing is not None:
            path = None if doing == "step" else rng.choice(paths)
            spans.append([now, end, path, doing, None if doing == "step" else number])
        now = end
    return spans


def profile(spans=2000, function="load", seconds=5.0, workers=4, **others):
    """Return what `Profile.to_dict` does, of an invented run."""
    rng = random.Random(20)
    work = {"run": 5, "gil": 4, "blocked": 2, "input": 1, "room": 0.5, None: 0.3}
    each = spans // (workers + 2)
    threads = [
        {"name": "penstock map", "spans": spans_of(rng, seconds, each, work, ["0.0.0"])}
        for _ in range(workers)
    ]
    loop = {"step": 4, "input": 6}
    read = {"run": 2, "blocked": 5, "room": 3}
    threads.insert(0, {"name": "MainThread", "spans": spans_of(rng, seconds, each, loop, ["0"])})
    paths = ["0.0.0.0.0", "0.0.0.0.1"]
    threads.append({"name": "penstock prefetch", "spans": spans_of(rng, seconds, each, read, paths)})
    moments = [i * 0.05 for i in range(int(seconds / 0.05))]
    history = {
        "seconds": moments,
        "rate": [200 + 60 * rng.random() for _ in moments],
        "waiting": [rng.random() ** 0.5 for _ in moments],
        "buffers": {"0": [float(rng.randint(0, 2)) for _ in moments]},
    }
    stages = [
        stage("0", "prefetch", ["0.0"], buffer_size=0.4, buffer_limit=2, call_p50=None),
        stage("0.0", "batch", ["0.0.0"], rate=7.7, elements=39, name="batches"),
        stage("0.0.0", "parallel_map", ["0.0.0.0"], function=function, parallelism=workers),
        stage("0.0.0.0", "zip", ["0.0.0.0.0", "0.0.0.0.1"], bytes=0),
        stage("0.0.0.0.0", "from_list", elements=2000),
        stage("0.0.0.0.1", "tf_record", function=None, blocked_seconds=2.25),
    ]
    return {
        **{"version": 1, "seconds": seconds, "elements": 1234, "rate": 246.8},
        **{"input_bound": 0.62, "headspace": 2.6},
        **{"processors": 2, "cpu_share": 0.93, "gil_share": 0.4},
        "verdict": (
            f"Your loop waits for data 62 % of the time. map({function}) is the reason: its four "
            "threads wait for one another, because the function holds the GIL 90 % of the time. "
            "With a loader without end the loop would be 2.6 times as fast."
        ),
        "bottleneck": {
            **{"stage": "0.0.0", "kind_of_stage": "parallel_map", "name": None},
            **{"function": function, "kind": "gil", "share": 0.9},
        },
        "advice": [
            {
                **{"stage": "0.0.0", "rate": 480.0, "gain": 1.9},
                "change": f"map(ps.native({function}), num_parallel_calls=ps.AUTOTUNE)",
                "why": "The function is made of operations alone: it can run without the GIL.",
            },
            {
                **{"stage": "0", "change": "prefetch(4)", "rate": 251.0, "gain": 1.02},
                "why": "The buffer was empty 60 % of the time.",
            },
        ],
        "stages": stages,
        "threads": threads,
        "history": history,
        **others,
    }
