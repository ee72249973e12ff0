/* Copyright 2026 The gaudi3.scale authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "habanalabs.h"

const char *hl_cn_package(void)
{
	return hl_core_package();
}
EXPORT_SYMBOL(hl_cn_package);

SIMULATED_MODULE("Gaudi network core", "@NIC_DRIVER@");
