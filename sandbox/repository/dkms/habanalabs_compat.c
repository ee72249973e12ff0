/* Copyright 2026 The gaudi3.scale authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "habanalabs.h"

const char *hl_compat_package(void)
{
	return "@PACKAGE@";
}
EXPORT_SYMBOL(hl_compat_package);

SIMULATED_MODULE("Gaudi kernel compatibility", "@DRIVER@");
