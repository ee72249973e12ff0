/* Copyright 2026 The gaudi3.scale authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "habanalabs.h"

const char *hl_ib_package(void)
{
	return hl_cn_package();
}
EXPORT_SYMBOL(hl_ib_package);

SIMULATED_MODULE("Gaudi RDMA driver", "@NIC_DRIVER@");
