/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The clock of completions.
 */
#ifndef _VROCE_CLOCK_H
#define _VROCE_CLOCK_H

struct uapi_definition;

extern const struct uapi_definition vroce_clock_uapi_defs[];

#endif /* _VROCE_CLOCK_H */
