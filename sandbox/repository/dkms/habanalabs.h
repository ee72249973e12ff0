/* Copyright 2026 The gaudi3.scale authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Simulated driver: what each module exports to the next, so that depmod finds the vendor's dependencies.
 */
#ifndef SIMULATED_HABANALABS_H
#define SIMULATED_HABANALABS_H

#include <linux/module.h>

const char *hl_compat_package(void);
const char *hl_core_package(void);
const char *hl_cn_package(void);
const char *hl_en_package(void);
const char *hl_ib_package(void);

#define SIMULATED_MODULE(text, release)                            \
	MODULE_DESCRIPTION(text " (simulated, drives no hardware)"); \
	MODULE_AUTHOR("The gaudi3.scale authors");                   \
	MODULE_LICENSE("Apache-2.0");                                \
	MODULE_VERSION(release);                                     \
	MODULE_INFO(package, "@PACKAGE@")

#endif
