#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Counts instructions (scripts/suites/counts.py), as a suite of "make check".

. "$(dirname "$0")/../lib.sh"

step "instructions for each kind of message"
run_counted counts /usr/bin/python3 "$top/scripts/suites/counts.py"
