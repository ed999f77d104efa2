# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""scripts/suites/check.sh and what all suites share count right, and leave nothing behind."""

import contextlib
import fcntl
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

import shards
import skips
from lab import paths

LOG = """
SKIP tests/test_x.py::test_y[4096-a b]: a reason: and more
1| SKIP test_of_a_shard: why
SKIP test_without_reason
SKIP test_without_reason
ok   SKIP this is something else
"""


def test_lines_of_skips():
    """Names with anything in them, with and without a reason."""
    assert skips.skips(LOG) == [("tests/test_x.py::test_y[4096-a b]", "a reason: and more"),
                                ("test_of_a_shard", "why"), ("test_without_reason", "")]
    row = skips.expected("this any test_y[4096* *")
    assert skips.is_expected(row, "this", "short", "test_y[4096-x]", "")
    assert not skips.is_expected(row, "this", "short", "test_y4", "")


def test_list_of_skips():
    """The list can be read, each row is whole, and what it names exists."""
    rows = skips.expected(skips.LIST.read_text(encoding="utf-8"))
    assert rows and all(len(row) == 4 and row[1] in ("short", "long", "any") for row in rows)
    for _, _, name, _ in rows:
        file, _, test = name.partition("::")
        if re.match(r"\w", test):
            assert f"def {test.rstrip('*')}" in (paths.TOP / file).read_text(), name


@pytest.mark.parametrize("said, status, recorded", [
    ("2 passed, 0 failed, 0 skipped", 0, "2 0 0"),
    ("2 passed, 1 failed, 0 skipped", 1, "2 1 0"),
    ("2 passed, 0 failed, 0 skipped", 1, "2 1 0"),
    ("0 passed, 0 failed, 0 skipped", 0, "0 1 0"),
    ("2 passed, 0 failed", 0, "0 1 0"),  # an old form: nobody counted the skips
    ("SKIP a: why\n2 passed, 0 failed, 1 skipped", 0, "2 1 1"),
    ("2 passed, 0 failed, 1 skipped", 0, "2 1 1"),  # it was not named
    ("SKIP tests.a: why\n2 passed, 0 failed, 1 skipped", 0, "2 0 1"),
])
def test_run_counted(tmp_path, said, status, recorded):
    """scripts/lib.sh records what a suite says, and judges what it skipped."""
    # The list lets a suite of this name skip what begins with "tests.".
    (tmp_path / "said").write_text(f"{said}\n")
    script = ('. "$0/scripts/lib.sh"; build=$1; run_counted conformance-x'
              ' sh -c \'cat "$0/said"; exit "$1"\' "$1" "$2"')
    result = subprocess.run(["bash", "-c", script, paths.TOP, tmp_path, str(status)],
                            stdout=subprocess.PIPE, text=True, check=False)
    assert (tmp_path / "results" / "conformance-x").read_text().split()[:3] == recorded.split(), \
        result.stdout
    assert (result.returncode == 0) == (recorded.split()[1] == "0")


def processes(word):
    """The processes that have a word on their command line."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if word in path.read_text(errors="replace").split("\0"):
                found.append(int(path.parent.name))
        except OSError:
            pass
    return found


def lane_of(word):
    """The sessions of the processes with a word, but for those of our own session."""
    found = {}
    for pid in processes(word):
        with contextlib.suppress(ProcessLookupError):
            found[pid] = os.getsid(pid)
    return {pid: session for pid, session in found.items() if session != os.getsid(0)}


@pytest.mark.parametrize("ends", ["KILL", "TERM", "by itself"])
def test_lanes_end_with_their_script(tmp_path, ends):
    """However it ends; and what a lane has started ends as well."""
    word = f"lane-{os.getpid()}-{ends}".replace(" ", "-")
    script = ('. "$0/scripts/lib.sh"; trap end_aside EXIT;'
              'aside sh -c "sleep 1000 & sh -c \\"sleep 1000; :\\" $1; :" "$1";'
              '[ "$2" ] || { wait; exit; };'
              'until [ -e "$2" ]; do sleep 0.05 {alive}>&-; done')
    enough = tmp_path / "enough"
    with subprocess.Popen(["bash", "-c", script, paths.TOP, word,
                           enough if ends == "by itself" else ""]) as run:
        deadline = time.monotonic() + 60
        # The leader, its child, and what waits for the script's end.  The script is in our
        # session, and for a moment what it forks has its command line.
        while len(lane := lane_of(word)) < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
        sessions = set(lane.values())
        enough.touch()
        assert len(sessions) == 1
        if ends != "by itself":
            run.send_signal(getattr(signal, f"SIG{ends}"))
        run.wait(60)

    def left():
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if fields[0] != "Z" and int(fields[3]) in sessions:
                found.append(path)
        return found

    # Counted anew: on a busy machine the start alone may take long.
    deadline = time.monotonic() + 60
    while left() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left()


def test_make_in_a_tree_ends():
    """By TERM to all: it must not be process 1, for which signals of its own do nothing.

    The message of make then depends on which of its processes gets the signal first.
    """
    word = f"tree-{os.getpid()}"
    with tempfile.TemporaryDirectory(dir=paths.BUILD) as directory:
        makefile = pathlib.Path(directory) / "Makefile"
        makefile.write_text(f"all:\n\t@echo {word} begun; sleep 1000 && echo goes on\n")
        with subprocess.Popen(
                [paths.TOP / "scripts/images/in-tree", "build", "make", "-s", "-f", makefile],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                start_new_session=True) as run:
            begun = run.stdout.readline()
            os.killpg(run.pid, signal.SIGTERM)
            try:
                # To the end of what all of them may write.
                said = run.communicate(timeout=60)[0]
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(run.pid, signal.SIGKILL)
    assert begun == f"{word} begun\n"
    assert "goes on" not in said, said


def test_half_made_entries_are_removed(tmp_path):
    """But not those that somebody is making."""
    cache = tmp_path / "virtio-net-roce"
    for name in (".new-tree-a.12", ".new-tree-b.34", "tree-c-0123456789abcdef"):
        (cache / name).mkdir(parents=True)
        (cache / name / "file").touch()
    with open(cache / ".lock-tree-b", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(["bash", "-c", '. "$0/scripts/lib.sh"; forget_half_made', paths.TOP],
                       env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)}, check=True)
    assert sorted(path.name for path in cache.iterdir() if path.is_dir()) == \
        [".new-tree-b.34", "tree-c-0123456789abcdef"]


def test_entries_are_made_with_ordinary_priority(tmp_path):
    """Also by a lane that has the lowest: others wait for them."""
    script = ('. "$0/scripts/lib.sh"; build=$XDG_CACHE_HOME/build; priority --idle 19;'
              ' make_one() { chrt --pid $$ > "$1/file"; };'
              ' cached one -- make_one; cat "$entry/file"; chrt --pid $$')
    said = subprocess.run(["setsid", "bash", "-c", script, paths.TOP], check=True, text=True,
                          stdout=subprocess.PIPE,
                          env={**os.environ, "XDG_CACHE_HOME": str(tmp_path), "LAB_GENTLY": "1"})
    policies = [line.split()[-1] for line in said.stdout.splitlines() if "policy" in line]
    assert policies == ["SCHED_OTHER", "SCHED_IDLE"], said


def test_alone_waits_for_lanes(tmp_path, monkeypatch):
    """For each that a file of check.sh stands for."""
    monkeypatch.delenv("LAB_BESIDE", raising=False)
    assert not shards.busy()
    monkeypatch.setenv("LAB_BESIDE", str(tmp_path / ".beside"))
    assert not shards.busy()
    (tmp_path / ".beside.cache").touch()
    assert shards.busy()


# Instead of make: each target leaves the counts of its suite, or does not.
MAKE = """#!/bin/sh
[ "$1" != -C ] || shift 2
mkdir -p "$RESULTS"
for target; do
	case $target in
	all | device-variants) ;;
	unit)	echo "5 1 1 7" > "$RESULTS/unit"
		echo "FAIL test_bad"
		echo test_left_out > "$RESULTS/.unit.skips"
		;;
	lint)	exit 2 ;;
	*)	echo "10 0 0 7" > "$RESULTS/$target" ;;
	esac
done
"""


def test_check(tmp_path):
    """The last line has all suites; one that did not run is a failure."""
    scripts = tmp_path / "scripts"
    for group in ("build", "images", "suites"):
        (scripts / group).mkdir(parents=True)
    for name in ("lib.sh", "suites/check.sh", "suites/skips.py"):
        shutil.copy(paths.TOP / "scripts" / name, scripts / name)
    for name in ("build/install-packages.sh", "images/guest-image.sh", "images/kunit-kernel.sh",
                 "images/system-image.sh", "images/trees.sh"):
        (scripts / name).symlink_to("/bin/true")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "make").write_text(MAKE)
    (tmp_path / "bin" / "make").chmod(0o755)
    run = subprocess.run(
        [scripts / "suites" / "check.sh", "fast"], stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False, timeout=60,
        env={**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}",
             "XDG_CACHE_HOME": str(tmp_path / "cache"), "RESULTS": str(tmp_path / "build/results")})
    lines = run.stdout.splitlines()
    # The build, the guest tests, KUnit and unit tests passed; lint left nothing.
    assert lines[-1] == "26 passed, 2 failed, 1 skipped", run.stdout
    assert run.returncode == 1
    assert "SKIP unit: test_left_out" in lines and "FAIL test_bad" in lines, run.stdout
    assert any(line.split() == ["lint", "did", "not", "run"] for line in lines), run.stdout
