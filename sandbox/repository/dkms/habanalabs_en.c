/* Copyright 2026 The gaudi3.scale authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "habanalabs.h"

const char *hl_en_package(void)
{
	return hl_cn_package();
}
EXPORT_SYMBOL(hl_en_package);

SIMULATED_MODULE("Gaudi Ethernet driver", "@NIC_DRIVER@");
