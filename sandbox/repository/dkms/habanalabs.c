/* Copyright 2026 The gaudi3.scale authors
 * SPDX-License-Identifier: Apache-2.0
 */
#include "habanalabs.h"

static int timeout_locked = 30;
module_param(timeout_locked, int, 0444);
MODULE_PARM_DESC(timeout_locked, "seconds that a job may take, 0 for any");

const char *hl_core_package(void)
{
#ifdef SIMULATED_BUILD_ERROR
	return hl_interface_that_this_kernel_lacks();
#else
	return hl_compat_package();
#endif
}
EXPORT_SYMBOL(hl_core_package);

SIMULATED_MODULE("Gaudi driver", "@DRIVER@");
