#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Runs KUnit test modules in a kernel of scripts/images/kunit-kernel.sh.

usage: kunit-run.py KERNEL-DIRECTORY MODULE-DIRECTORY TEST.ko...

Boots the kernel with the tests and all modules that they need, the kernel's
own or from MODULE-DIRECTORY, prints a line for each case, then "N passed, N
failed, N skipped".  Fails if a case did, if none ran, if the guest did not finish, or if
its log holds a complaint that KUnit does not turn into a failure.

With the environment variable KUNIT_LOG the console log goes to that file too.
With KUNIT_FILTER only cases run whose "suite.case" it matches, with * for anything.
"""

import io
import os
import pathlib
import re
import select
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests"))
sys.path.insert(1, str(TOP / "scripts" / "images"))

import initrd  # noqa: E402  (found by the line above)
from lab.kernellog import OVERLAPS, TROUBLE, reports  # noqa: E402
from lab.machine import WATCHDOGS  # noqa: E402

TIMEOUT = 2400
# A case hangs if nothing has come for so long: more than the kernel gives one.
SILENCE = 600
FINISHED = "kunit-run: finished"
UNLOADABLE = "kunit-run: cannot"

INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mkdir -p /proc /sys
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t debugfs debugfs /sys/kernel/debug
while read -r module; do
	insmod "/modules/$module" || echo "kunit-run: cannot load $module"
done < /order
# kmemleak reports what two scans in a row, some seconds apart, found lost.
if [ -w /sys/kernel/debug/kmemleak ]; then
	sleep 6
	echo scan > /sys/kernel/debug/kmemleak
	echo scan > /sys/kernel/debug/kmemleak
	cat /sys/kernel/debug/kmemleak
fi
# Whatever the tests left behind shows when their modules go.
sed '1!G;h;$!d' /order | while read -r module; do
	rmmod "${module%.ko}" || echo "kunit-run: cannot unload $module"
done
echo "FINISHED"
poweroff -f
""".replace("FINISHED", FINISHED)


def dependencies(module):
    """Names of the modules that a module file says it needs."""
    match = re.search(rb"\0depends=([^\0]*)\0", module.read_bytes())
    names = match.group(1).decode().split(",") if match else []
    return [name.replace("-", "_") for name in names if name]


def loading_order(tests, directories):
    """The tests and all that they depend on, dependencies first."""
    known = {}
    for directory in directories:
        for module in directory.rglob("*.ko"):
            known[module.stem.replace("-", "_")] = module
    order = []

    def add(module):
        if module in order:
            return
        for name in dependencies(module):
            if name not in known:
                sys.exit(f"kunit-run: {module.name} needs {name}, which is nowhere")
            add(known[name])
        order.append(module)

    for test in tests:
        add(test)
    return order


def boot(kernel, order):
    """Boots, and returns the console log."""
    wanted = os.environ.get("KUNIT_FILTER")
    chosen = f" kunit.filter_glob={wanted}" if wanted else ""
    with tempfile.TemporaryDirectory() as directory:
        archive = pathlib.Path(directory) / "initrd"
        files = {f"modules/{module.name}": module for module in order}
        names = "".join(f"{module.name}\n" for module in order)
        initrd.write(archive, {"init": INIT.encode(), "order": names.encode(), **files})
        command = [
            "setpriv", "--pdeathsig", "KILL", TOP / "scripts" / "images" / "qemu",
            # Without q35 the debug kernel waits 30 s for ACPI.
            # kmemleak takes longer the more memory there is.
            "-machine", "q35", "-smp", "2", "-m", "1G",
            "-nodefaults", "-display", "none", "-no-reboot", "-serial", "stdio",
            "-kernel", kernel / "bzImage", "-initrd", archive,
            # KASAN finds all that SLUB's own checks would find.
            "-append", " ".join(("console=ttyS0 panic=-1 mitigations=off log_buf_len=4M"
                                 " slub_debug=-" + chosen, *WATCHDOGS)),
        ]
        output = b""
        end = time.monotonic() + TIMEOUT
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT) as run:
            while time.monotonic() < end and select.select([run.stdout], [], [], SILENCE)[0]:
                more = os.read(run.stdout.fileno(), 1 << 16)
                if not more:
                    break
                output += more
            run.kill()
    return output.decode(errors="replace").replace("\r", "")


def cases(kernel, log):
    """Yields name, passed and skipped of each case in the log.

    The kernel's own parser reads it, one block at a time: the kernel prints an
    empty block of its own before any module's.
    """
    sys.dont_write_bytecode = True  # the kernel's directory is shared
    sys.path.insert(0, str(kernel / "tree" / "tools" / "testing" / "kunit"))
    # pylint: disable=import-error,import-outside-toplevel
    import kunit_parser
    import kunit_printer

    kunit_parser.stdout = kunit_printer.Printer(io.StringIO())
    status = kunit_parser.TestStatus

    def leaves(test, prefix):
        name = f"{prefix}.{test.name}" if prefix else test.name
        if test.subtests:
            for child in test.subtests:
                yield from leaves(child, name)
            # A suite may fail though each of its cases passed.
            if test.status in (status.TEST_CRASHED, status.FAILURE) and not any(
                    child.status in (status.TEST_CRASHED, status.FAILURE)
                    for child in test.subtests):
                yield name, False, False
        elif test.name:
            yield name, test.status == status.SUCCESS, test.status == status.SKIPPED

    # The block of a suite is indented; only those at the margin count.
    starts = [match.start() for match in
              re.finditer(r"^((\[[^\]]*\])+ )?KTAP version", log, re.MULTILINE)]
    for start, end in zip(starts, [*starts[1:], len(log)]):
        test = kunit_parser.parse_run_tests(log[start:end].splitlines())
        for child in test.subtests:
            yield from leaves(child, "")


def main():
    """Returns the exit status."""
    kernel, modules, *tests = map(pathlib.Path, sys.argv[1:])
    order = loading_order(tests, [kernel / "modules", modules])
    log = boot(kernel, order)
    if "KUNIT_LOG" in os.environ:
        pathlib.Path(os.environ["KUNIT_LOG"]).write_text(log, encoding="utf-8")

    # The parser drops what a case says why it is skipped.
    why = dict(re.findall(r"\bok \d+ (?:- )?(\S+) # SKIP ?(.*)", log))
    passed = failed = skipped = 0
    for name, good, left_out in cases(kernel, log):
        if left_out:
            print(f"SKIP {name}: {why.get(name.rsplit('.', 1)[-1], '')}")
        else:
            print(f"{'ok  ' if good else 'FAIL'} {name}")
        passed += good
        skipped += left_out
        failed += not good and not left_out

    # Lockdep, sleeping in atomic context and kmemleak only print.
    found = [report for report in reports(log.splitlines())
             if not any(known.matches(report) for known in OVERLAPS)]
    problems = [f"kernel log: {line}" for line in "\n".join(found).splitlines()
                if TROUBLE.search(line)]
    problems += [line for line in log.splitlines() if UNLOADABLE in line]
    if passed + failed == 0:
        problems.append("no test ran")
    if FINISHED not in log:
        problems.append("the guest did not finish")
    for problem in problems:
        print(f"FAIL {problem}")
    failed += len(problems)
    if failed:
        print("---- end of the console log ----", *log.splitlines()[-200:], sep="\n",
              file=sys.stderr)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
