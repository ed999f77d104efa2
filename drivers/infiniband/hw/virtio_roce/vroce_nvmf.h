/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The offload of NVMe over Fabrics.
 */
#ifndef _VROCE_NVMF_H
#define _VROCE_NVMF_H

#include "vroce_types.h"

struct uapi_definition;

extern const struct uapi_definition vroce_nvmf_uapi_defs[];

void vroce_nvmf_event(struct vroce_dev *dev, u32 handle, u16 type);

#endif /* _VROCE_NVMF_H */
