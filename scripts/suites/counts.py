#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""counts.py [--update] [--others] [NAME...]

Counts instructions of the daemon's engine for each message, and of the provider for each
request and each look at a completion queue, and compares them with those that are stored in
device/tests/bench/counts.json and provider/tests/counts.json.  A machine that is busy, or
slow, counts the same.

callgrind runs device/tests/bench/count.c, which says what the names are, for two numbers
of bursts; their difference, divided by the messages, is what a message costs.  Only
instructions of the program's own code count, not those of libc, which chooses its copies
by the processor.  provider/tests/count.c counts for itself.

Fails if a count is more than 3 % above or below the stored one.  --update stores what was
counted: a change is committed together with its reason.

provider/tests/counts_others.json has what the efa and the mlx5 provider of the same rdma-core
take for the same.  Ours may not take more than the best of them.  --others counts them and
stores that; they change with rdma-core and the compiler only.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = TOP / "build" / "device"
STORED = TOP / "device" / "tests" / "bench" / "counts.json"
STORED_PROVIDER = TOP / "provider" / "tests" / "counts.json"
STORED_OTHERS = TOP / "provider" / "tests" / "counts_others.json"
BURSTS = (20, 60)
MESSAGES = 16
TOLERANCE = 0.03

# The functions that are counted, if it is not eg_work().
COUNTED = {"takeover_qp": ("count_save", "count_load"),
           "nvmf_read_4096": ("round_of_reads",)}


def own_instructions(path, program):
    """The sum of what callgrind has counted in a program itself."""
    names, current, total, skip = {}, None, 0, False
    for line in path.read_text(encoding="utf-8").splitlines():
        if match := re.match(r"(c?ob)=\((\d+)\)(?: (.*))?$", line):
            if match.group(3):
                names[match.group(2)] = match.group(3)
            if match.group(1) == "ob":
                current = names[match.group(2)]
        elif line.startswith("calls="):
            skip = True
        elif match := re.match(r"(?:[+-]?\d+|\*) (\d+)$", line):
            if not skip and current and os.path.basename(current) == program.name:
                total += int(match.group(1))
            skip = False
    return total


def run(program, name, bursts):
    """Counts a run."""
    with tempfile.TemporaryDirectory(prefix="counts-") as scratch:
        out = pathlib.Path(scratch) / "out"
        subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}",
             *(f"--toggle-collect={each}" for each in COUNTED.get(name, ("eg_work",))),
             program, name, str(bursts)],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        return own_instructions(out, program)


def names_of(program):
    """The names of the program's cases."""
    return subprocess.run([program, "--list"], check=True, capture_output=True,
                          encoding="utf-8").stdout.split()


def provider_counts(option="--count"):
    """The counts of the provider's program, or with "--count-others" of those of others."""
    script = TOP / "scripts" / "build" / "provider.sh"
    return json.loads(subprocess.run([script, option], check=True, capture_output=True,
                                     encoding="utf-8").stdout)


def judge_by_others(ours):
    """Compares the provider with the best of the others; returns how many are good and not."""
    others = json.loads(STORED_OTHERS.read_text(encoding="utf-8"))
    passed = failed = 0
    for name in sorted(set.intersection(*map(set, others.values()))):
        best = min(counts[name] for counts in others.values())
        good = ours[name] <= best
        print(f"{'PASS' if good else 'FAIL'} {name} of others: {ours[name]} instructions, "
              + ", ".join(f"{other} {counts[name]}" for other, counts in others.items()))
        passed += good
        failed += not good
    return passed, failed


def engine_counts(names):
    """Counts by callgrind, one after the other."""
    program = BUILD / "count"
    for name in names or names_of(program):
        few, many = (run(program, name, bursts) for bursts in BURSTS)
        yield name, round((many - few) / (BURSTS[1] - BURSTS[0]) / MESSAGES, 1)


def judge(path, counted, update, whole):
    """Compares or stores counts; returns how many are good and how many are not."""
    stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    found = {}
    passed = failed = 0
    for name, count in counted:
        wanted = stored.get(name)
        good = update or (wanted is not None and abs(count - wanted) <= TOLERANCE * wanted)
        print(f"{'PASS' if good else 'FAIL'} {name}: {count} instructions, stored {wanted}")
        passed += good
        failed += not good
        found[name] = count
    if update:
        path.write_text(json.dumps(stored | found, indent=2) + "\n", encoding="utf-8")
    missing = set(stored) - set(found) if whole else set()
    if missing:
        print(f"FAIL stored counts of nothing: {' '.join(sorted(missing))}")
    return passed, failed + len(missing)


def main(args):
    """Counts, and compares or stores."""
    update = "--update" in args
    names = [arg for arg in args if not arg.startswith("--")]
    if "--others" in args:
        STORED_OTHERS.write_text(json.dumps(provider_counts("--count-others"), indent=2) + "\n",
                                 encoding="utf-8")
    passed, failed = judge(STORED, engine_counts(names), update, not names)
    if not names:
        ours = provider_counts()
        for more in (judge(STORED_PROVIDER, ours.items(), update, True), judge_by_others(ours)):
            passed, failed = passed + more[0], failed + more[1]
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
