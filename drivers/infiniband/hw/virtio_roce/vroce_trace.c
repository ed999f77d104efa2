// SPDX-License-Identifier: GPL-2.0
/*
 * The code of the tracepoints.
 */
#define CREATE_TRACE_POINTS
#include "vroce_trace.h"
