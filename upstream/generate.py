#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Writes the two patch series from HEAD.

usage: generate.py [--rfc-numbers] LINUX RDMA-CORE OUT

LINUX and RDMA-CORE are source trees, OUT gets a directory of patches for each.
With --rfc-numbers the kernel has the feature bit, the command class and the place in the
configuration space that the daemon has: that is for tests only.
"""

import pathlib
import sys

sys.dont_write_bytecode = True

# pylint: disable=wrong-import-position
from flatten import FlattenError  # noqa: E402
from kernel import kernel_series  # noqa: E402
from provider import provider_series  # noqa: E402
from series import SeriesError  # noqa: E402


def main(arguments):
    """Runs it."""
    rfc_numbers = "--rfc-numbers" in arguments
    paths = [pathlib.Path(a).resolve() for a in arguments if not a.startswith("--")]
    if len(paths) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    linux, rdma_core, out = paths
    try:
        print(kernel_series(linux, out, rfc_numbers))
        print(provider_series(rdma_core, out))
    except (FlattenError, SeriesError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


sys.exit(main(sys.argv[1:]))
