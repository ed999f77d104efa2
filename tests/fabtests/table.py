# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The results as a page of the documentation."""

from conformance.table import columns

HEAD = """\
.. SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB

=================
libfabric's tests
=================

This page has the results of libfabric's own tests (fabtests): the functional and the short
ones of libfabric 2.1.0, between two guests with Debian's libfabric and rdma-core and our
driver, provider and daemon. Tests that the suite's own files exclude for a provider are
left out. ``make fabtests`` runs them, and ``make soak`` does; ``make apps`` runs some.
``scripts/suites/fabtests.sh --update`` has written this page, with Soft-RoCE (``rdma_rxe``)
between the same guests, after our modules were removed.

=========  ========  ========  ========
device     passed    failed    not run
=========  ========  ========  ========
ours       {ours}
Soft-RoCE  {rxe}
=========  ========  ========  ========

"Not run" is what the suite says if libfabric's provider lacks what the test needs. Tests
that must pass are listed in ``tests/fabtests/required.txt`` and are "required" here.

Of the 48 failures of Soft-RoCE all but fi_msg_sockets are fi_enable(), which
says EINVAL: libfabric asks for a CQ of 262144 completions, and rdma_rxe has 32767 at most.

"""

WHY = """
Failures
========

"""


def _count(outcomes):
    counts = [sum(outcome.result == result for outcome in outcomes)
              for result in ("passed", "failed", "not run")]
    return "  ".join(str(count).ljust(8) for count in counts).rstrip()


def page(ours, rxe, required, explained):
    """The text of Documentation/libfabric.rst."""
    rows = [("provider", "test", "ours", "Soft-RoCE")]
    other = {outcome.name: outcome.result for outcome in rxe}
    for mine in ours:
        must = ", required" if mine.name in required and mine.result == "passed" else ""
        rows.append((mine.provider, f"``{mine.line}``", mine.result + must,
                     other.get(mine.name, "not recorded")))
    text = HEAD.format(ours=_count(ours), rxe=_count(rxe)) + columns(rows)
    names = {outcome.name for outcome in ours}
    why = "".join(f"``{name}``\n\t{reason}\n\n" for name, reason in explained.items()
                  if name in names)
    return text + (WHY + why.rstrip("\n") + "\n" if why else "")
