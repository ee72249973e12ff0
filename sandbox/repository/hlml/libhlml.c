/* Copyright 2026 The gaudi3.scale authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * A simulation of HLML, the vendor's library below hl-smi, for the sandbox's nodes. It answers from the simulated cards:
 * the text in SIMULATOR_ROOT/hlml, which the simulator writes anew whenever its node changes. Names, numbers, layouts
 * and units are those of the vendor's Python wrapper (habana-pyhlml); nothing here is the vendor's code.
 *
 * What the sandbox's own choice is, since no page says it: what is answered to an argument that makes no sense, from
 * which port hlml_device_get_mac_info counts, the thresholds, and the names of the counters of a port.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SIMULATOR_ROOT
#define SIMULATOR_ROOT "/var/lib/gaudi_simulator"
#endif
#ifndef HL_SMI
#define HL_SMI "/usr/bin/hl-smi"
#endif
#ifndef RELEASE
#define RELEASE "0.0.0"
#endif

#define STATE SIMULATOR_ROOT "/hlml"
#define PID_NAMESPACE SIMULATOR_ROOT "/boot/pid_namespace"
#define MOST_CARDS 64
#define MOST_SETS 16
#define PORTS 24
#define LINE 512

const char gaudi3_scale_simulation[] = "Simulated by the sandbox of gaudi3.scale; no vendor software.";

enum {
	SUCCESS = 0,
	UNINITIALIZED = 1,
	INVALID_ARGUMENT = 2,
	NOT_SUPPORTED = 3,
	NOT_FOUND = 6,
	INSUFFICIENT_SIZE = 7,
	DRIVER_NOT_LOADED = 9,
	TIMEOUT = 10,
	AIP_IS_LOST = 15,
	UNKNOWN = 49,
};

enum { EVENT_DRAM_DERR = 8, PSTATE_UNKNOWN = 32, ROWS = 32 };

struct pci_info {
	unsigned int bus;
	char bus_id[19];
	unsigned int device;
	unsigned int domain;
	unsigned int pci_device_id;
	char link_speed[10];
	char link_width[10];
	char link_max_speed[10];
	char link_max_width[10];
	unsigned int pci_rev;
	unsigned int pci_subsys_id;
};

/* As in headers before 1.21. */
struct older_pci_info {
	unsigned int bus;
	char bus_id[15];
	unsigned int device;
	unsigned int domain;
	unsigned int pci_device_id;
	char link_speed[10];
	char link_width[10];
};

struct utilization { unsigned int aip, memory; };
struct memory { unsigned long long free, total, used; };
struct pcb_info { char pcb_ver[32], pcb_assembly_ver[32]; };
struct violation_time { unsigned long long reference_time, violation_time; };
struct row_address { uint8_t hbm_idx, pc, sid, bank_idx; uint16_t row_addr; };
struct mac_info { unsigned char addr[6]; int id; };
struct event_data { void *device; unsigned long long event_type; };
struct nic_stats_info { uint32_t port; char *str_buf; uint64_t *val_buf; uint32_t *num_of_counters_out; };

struct card { char address[32]; };
struct event_set { unsigned long long types[MOST_CARDS], seen[MOST_CARDS]; bool used; };

static struct card cards[MOST_CARDS];
static struct event_set sets[MOST_SETS];
static int started;

/* ---- the text of the simulated cards: lines "KEY VALUE"; "card ADDRESS" begins a card's own ---- */

/* The value of a key, of the node where card is NULL. */
static bool look_up(const struct card *card, const char *key, char *value, size_t length)
{
	char line[LINE];
	bool mine = card == NULL;
	size_t wide = strlen(key);
	FILE *state = fopen(STATE, "re");

	if (!state)
		return false;
	while (fgets(line, sizeof line, state)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "card ", 5))
			mine = card && !strcmp(line + 5, card->address);
		else if (mine && !strncmp(line, key, wide) && line[wide] == ' ') {
			snprintf(value, length, "%s", line + wide + 1);
			fclose(state);
			return true;
		}
	}
	fclose(state);
	return false;
}

static unsigned long long number_of(const struct card *card, const char *key)
{
	char value[LINE];

	return look_up(card, key, value, sizeof value) ? strtoull(value, NULL, 0) : 0;
}

/* In a container only the cards whose devices it was given are there. */
static bool in_a_container(void)
{
	char own[64] = "", first[64] = "";
	ssize_t length = readlink("/proc/self/ns/pid", own, sizeof own - 1);
	FILE *kept = fopen(PID_NAMESPACE, "re");

	if (kept) {
		if (fgets(first, sizeof first, kept))
			first[strcspn(first, "\n")] = '\0';
		fclose(kept);
	}
	return length > 0 && first[0] && strcmp(own, first);
}

static bool is_given(unsigned long long index)
{
	char device[64];
	struct stat found;

	snprintf(device, sizeof device, "/dev/accel/accel_controlD%llu", index);
	return !in_a_container() || !stat(device, &found);
}

/* Fill the table of cards from the text, in the order of their indices; how many there are. */
static unsigned int list_cards(void)
{
	char line[LINE], address[32] = "";
	unsigned int count = 0;
	FILE *state = fopen(STATE, "re");

	while (state && count < MOST_CARDS && fgets(line, sizeof line, state)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "card ", 5))
			snprintf(address, sizeof address, "%.31s", line + 5);
		else if (address[0] && !strncmp(line, "index ", 6) && is_given(strtoull(line + 6, NULL, 0)))
			memcpy(cards[count++].address, address, sizeof address);
	}
	if (state)
		fclose(state);
	return count;
}

static bool has_fault(const struct card *card, const char *name)
{
	return number_of(card, name) != 0;
}

/* ---- what each question about a card begins with ---- */

static int ready(const struct card *card)
{
	if (!started)
		return UNINITIALIZED;
	if (card < cards || card >= cards + MOST_CARDS || !card->address[0])
		return INVALID_ARGUMENT;
	while (has_fault(card, "hangs"))
		sleep(1);
	if (has_fault(card, "crashes"))
		raise(SIGSEGV);
	return has_fault(card, "lost") ? AIP_IS_LOST : SUCCESS;
}

static int text_answer(const struct card *card, const char *key, char *text, unsigned int length)
{
	char value[LINE];

	if (!text)
		return INVALID_ARGUMENT;
	if (!look_up(card, key, value, sizeof value))
		return NOT_SUPPORTED;
	if (strlen(value) >= length)
		return INSUFFICIENT_SIZE;
	memcpy(text, value, strlen(value) + 1);
	return SUCCESS;
}

static int card_text(void *device, const char *key, char *text, unsigned int length)
{
	int code = ready(device);

	return code ? code : text_answer(device, key, text, length);
}

static int card_number(void *device, const char *key, unsigned int *value)
{
	int code = ready(device);

	if (!code && value)
		*value = (unsigned int)number_of(device, key);
	return code ? code : value ? SUCCESS : INVALID_ARGUMENT;
}

/* KEY_WHICH of the text, for a question with a number in it. */
static int chosen_number(void *device, const char *key, unsigned int which, unsigned int *value)
{
	char name[64], found[LINE];
	int code = ready(device);

	snprintf(name, sizeof name, "%s_%u", key, which);
	if (code)
		return code;
	if (!value || !look_up(device, name, found, sizeof found))
		return INVALID_ARGUMENT;
	*value = (unsigned int)strtoull(found, NULL, 0);
	return SUCCESS;
}

static unsigned long long now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000000ULL + now.tv_nsec / 1000;
}

/* ---- the library ---- */

int hlml_init(void)
{
	char driver[LINE];

	if (!look_up(NULL, "driver", driver, sizeof driver))
		return DRIVER_NOT_LOADED;
	list_cards();
	started++;
	return SUCCESS;
}

int hlml_init_with_flags(unsigned int flags)
{
	return flags ? INVALID_ARGUMENT : hlml_init();
}

int hlml_shutdown(void)
{
	if (!started)
		return UNINITIALIZED;
	started--;
	return SUCCESS;
}

int hlml_get_hlml_version(char *version, unsigned int length)
{
	const char *own = number_of(NULL, "older") ? "1.20.0 (simulated)" : RELEASE " (simulated)";

	if (!version || strlen(own) >= length)
		return INSUFFICIENT_SIZE;
	strcpy(version, own);
	return SUCCESS;
}

int hlml_get_driver_version(char *version, unsigned int length)
{
	return started ? text_answer(NULL, "driver", version, length) : UNINITIALIZED;
}

int hlml_get_nic_driver_version(char *version, unsigned int length)
{
	return started ? text_answer(NULL, "nic_driver", version, length) : UNINITIALIZED;
}

int hlml_device_get_count(unsigned int *count)
{
	if (!started || !count)
		return started ? INVALID_ARGUMENT : UNINITIALIZED;
	*count = list_cards();
	return SUCCESS;
}

int hlml_device_get_handle_by_index(unsigned int index, void **device)
{
	if (!started || !device)
		return started ? INVALID_ARGUMENT : UNINITIALIZED;
	if (index >= list_cards())
		return INVALID_ARGUMENT;
	*device = &cards[index];
	return has_fault(*device, "lost") ? AIP_IS_LOST : SUCCESS;
}

static int card_with(const char *key, const char *wanted, void **device)
{
	char value[LINE];

	if (!started || !wanted || !device)
		return started ? INVALID_ARGUMENT : UNINITIALIZED;
	for (unsigned int n = 0; n < list_cards(); n++)
		if (look_up(&cards[n], key, value, sizeof value) && !strcasecmp(value, wanted)) {
			*device = &cards[n];
			return has_fault(*device, "lost") ? AIP_IS_LOST : SUCCESS;
		}
	return NOT_FOUND;
}

int hlml_device_get_handle_by_pci_bus_id(const char *address, void **device)
{
	return card_with("bus_id", address, device);
}

int hlml_device_get_handle_by_UUID(const char *uuid, void **device)
{
	return card_with("uuid", uuid, device);
}

/* ---- texts ---- */

#define TEXT(function, key) \
	int function(void *device, char *text, unsigned int length) { return card_text(device, key, text, length); }

TEXT(hlml_device_get_name, "name")
TEXT(hlml_device_get_serial, "serial")
TEXT(hlml_device_get_uuid, "uuid")
TEXT(hlml_get_model_number, "model")
TEXT(hlml_get_firmware_fit_version, "fit")
TEXT(hlml_get_firmware_spi_version, "spi")
TEXT(hlml_get_fw_boot_version, "boot")
TEXT(hlml_get_fw_os_version, "os")
TEXT(hlml_get_cpld_version, "cpld")
TEXT(hlml_device_get_oper_status, "status")

/* ---- numbers ---- */

#define NUMBER(function, key) \
	int function(void *device, unsigned int *value) { return card_number(device, key, value); }
#define CHOSEN(function, key) \
	int function(void *device, unsigned int which, unsigned int *value) \
	{ return chosen_number(device, key, which, value); }

NUMBER(hlml_device_get_module_id, "module_id")
NUMBER(hlml_device_get_board_id, "board_id")
NUMBER(hlml_device_get_minor_number, "index")
NUMBER(hlml_device_get_hl_revision, "revision")
NUMBER(hlml_device_get_power_usage, "power")
NUMBER(hlml_device_get_power_management_mode, "enabled")
NUMBER(hlml_device_get_power_management_limit, "limit")
NUMBER(hlml_device_get_power_management_default_limit, "most_limit")
NUMBER(hlml_device_get_persistence_mode, "enabled")
NUMBER(hlml_device_get_performance_state, "performance_state")
NUMBER(hlml_device_get_pcie_replay_counter, "replays")
NUMBER(hlml_device_get_curr_pcie_link_generation, "link_generation")
NUMBER(hlml_device_get_curr_pcie_link_width, "link_width")
NUMBER(hlml_device_get_replaced_rows_pending_status, "rows_pending")
NUMBER(hlml_device_get_process_utilization, "utilization")
CHOSEN(hlml_device_get_clock_info, "clock")
CHOSEN(hlml_device_get_max_clock_info, "max_clock")
CHOSEN(hlml_device_get_clock_limit_info, "clock_limit")
CHOSEN(hlml_device_get_temperature_threshold, "threshold")

int hlml_device_get_temperature(void *device, unsigned int sensor, unsigned int *value)
{
	if (started && number_of(NULL, "leaks")) {
		char *kept = malloc(1 << 20);

		if (kept)
			memset(kept, 1, 1 << 20);
	}
	return chosen_number(device, "celsius", sensor, value);
}

int hlml_device_get_pcie_throughput(void *device, unsigned int direction, unsigned int *value)
{
	/* The real one measures for 10 ms, and a call takes 25. */
	usleep(25000);
	return chosen_number(device, "throughput", direction, value);
}

int hlml_device_get_power_management_limit_constraints(void *device, unsigned int *least, unsigned int *most)
{
	int code = card_number(device, "least_limit", least);

	return code ? code : card_number(device, "most_limit", most);
}

int hlml_device_get_ecc_mode(void *device, unsigned int *current, unsigned int *pending)
{
	int code = card_number(device, "enabled", current);

	return code ? code : card_number(device, "enabled", pending);
}

/* Millijoules since the driver was loaded: microwatts would overflow first after a thousand years. */
int hlml_device_get_total_energy_consumption(void *device, unsigned long long *energy)
{
	int code = ready(device);
	unsigned long long since_us, now = now_us();

	if (code || !energy)
		return code ? code : INVALID_ARGUMENT;
	since_us = number_of(device, "since_us");
	*energy = now > since_us ? number_of(device, "power") * ((now - since_us) / 1000) / 1000 : 0;
	return SUCCESS;
}

int hlml_device_get_current_clocks_throttle_reasons(void *device, unsigned long long *reasons)
{
	int code = ready(device);

	if (!code && reasons)
		*reasons = number_of(device, "throttle_reasons");
	return code ? code : reasons ? SUCCESS : INVALID_ARGUMENT;
}

int hlml_device_get_violation_status(void *device, unsigned int policy, struct violation_time *status)
{
	unsigned int violated = 0;
	int code = chosen_number(device, "violation", policy, &violated);

	if (code || !status)
		return code ? code : INVALID_ARGUMENT;
	status->reference_time = now_us();
	status->violation_time = violated;
	return SUCCESS;
}

int hlml_device_get_utilization_rates(void *device, struct utilization *rates)
{
	int code = ready(device);

	if (code || !rates)
		return code ? code : INVALID_ARGUMENT;
	if (has_fault(device, "unknown_error"))
		return UNKNOWN;
	rates->aip = (unsigned int)number_of(device, "utilization");
	rates->memory = (unsigned int)number_of(device, "memory_utilization");
	return SUCCESS;
}

int hlml_device_get_memory_info(void *device, struct memory *memory)
{
	int code = ready(device);

	if (code || !memory)
		return code ? code : INVALID_ARGUMENT;
	memory->total = number_of(device, "memory_total");
	memory->used = number_of(device, "memory_used");
	memory->free = memory->total - memory->used;
	return SUCCESS;
}

int hlml_device_get_total_ecc_errors(void *device, unsigned int type, unsigned int counter, long long *count)
{
	unsigned int found = 0;
	int code = chosen_number(device, "ecc", type, &found);

	if (code || !count || counter > 1)
		return code ? code : INVALID_ARGUMENT;
	*count = found;
	return SUCCESS;
}

int hlml_device_get_memory_error_counter(void *device, unsigned int type, unsigned int counter, unsigned int location,
					 long long *count)
{
	int code = hlml_device_get_total_ecc_errors(device, type, counter, count);

	if (!code && location > 2)
		return INVALID_ARGUMENT;
	if (!code && location == 0)
		*count = 0;
	return code;
}

int hlml_device_get_replaced_rows(void *device, unsigned int cause, unsigned int *count, struct row_address *rows)
{
	unsigned int found = 0;
	int code = chosen_number(device, "rows", cause, &found);

	if (code || !count)
		return code ? code : INVALID_ARGUMENT;
	if (rows && *count < found) {
		*count = found;
		return INSUFFICIENT_SIZE;
	}
	for (unsigned int n = 0; rows && n < found && n < ROWS; n++)
		rows[n] = (struct row_address){.hbm_idx = 1, .pc = 2, .sid = 0, .bank_idx = 3, .row_addr = 1000 + n};
	*count = found;
	return SUCCESS;
}

int hlml_device_get_supported_performance_states(void *device, unsigned int *states, unsigned int size)
{
	int code = ready(device);

	if (code || !states)
		return code ? code : INVALID_ARGUMENT;
	for (unsigned int n = 0; n < size; n++)
		states[n] = n ? PSTATE_UNKNOWN : (unsigned int)number_of(device, "performance_state");
	return SUCCESS;
}

int hlml_device_get_pcb_info(void *device, struct pcb_info *pcb)
{
	int code = pcb ? card_text(device, "pcb", pcb->pcb_ver, sizeof pcb->pcb_ver) : INVALID_ARGUMENT;

	return code ? code : card_text(device, "pcb_assembly", pcb->pcb_assembly_ver, sizeof pcb->pcb_assembly_ver);
}

static void older_pci(const struct card *card, struct older_pci_info *info)
{
	info->bus = (unsigned int)number_of(card, "bus");
	memcpy(info->bus_id, card->address, strlen(card->address) + 1);
	info->device = 0;
	info->domain = 0;
	info->pci_device_id = (unsigned int)number_of(card, "pci_device_id");
	look_up(card, "link_speed", info->link_speed, sizeof info->link_speed);
	look_up(card, "link_lanes", info->link_width, sizeof info->link_width);
}

int hlml_device_get_pci_info(void *device, struct pci_info *info)
{
	int code = ready(device);

	if (code || !info)
		return code ? code : INVALID_ARGUMENT;
	if (number_of(NULL, "older")) {
		older_pci(device, (struct older_pci_info *)info);
		return SUCCESS;
	}
	info->bus = (unsigned int)number_of(device, "bus");
	look_up(device, "bus_id", info->bus_id, sizeof info->bus_id);
	info->device = 0;
	info->domain = 0;
	info->pci_device_id = (unsigned int)number_of(device, "pci_device_id");
	look_up(device, "link_speed", info->link_speed, sizeof info->link_speed);
	look_up(device, "link_lanes", info->link_width, sizeof info->link_width);
	look_up(device, "max_link_speed", info->link_max_speed, sizeof info->link_max_speed);
	look_up(device, "max_link_lanes", info->link_max_width, sizeof info->link_max_width);
	info->pci_rev = (unsigned int)number_of(device, "pci_rev");
	info->pci_subsys_id = (unsigned int)number_of(device, "pci_device_id");
	return SUCCESS;
}

/* ---- ports ---- */

int hlml_get_mac_addr_info(void *device, uint64_t *mask, uint64_t *external)
{
	int code = ready(device);

	if (code || !mask || !external)
		return code ? code : INVALID_ARGUMENT;
	mask[0] = number_of(device, "ports");
	external[0] = number_of(device, "external_ports");
	mask[1] = external[1] = 0;
	return SUCCESS;
}

int hlml_nic_get_link(void *device, uint32_t port, bool *up)
{
	int code = ready(device);

	if (code || !up || port >= PORTS)
		return code ? code : INVALID_ARGUMENT;
	*up = number_of(device, "ports_up") >> port & 1;
	return SUCCESS;
}

int hlml_device_get_mac_info(void *device, struct mac_info *info, int count, int start, int *actual)
{
	unsigned char first[6] = {0};
	char text[LINE];
	int code = ready(device), given = 0;

	if (code || !info || !actual || start < 0)
		return code ? code : INVALID_ARGUMENT;
	if (look_up(device, "first_mac", text, sizeof text))
		sscanf(text, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", first, first + 1, first + 2, first + 3, first + 4, first + 5);
	for (int port = start; given < count && port < PORTS; port++, given++) {
		memcpy(info[given].addr, first, sizeof first);
		info[given].addr[5] += port;
		info[given].id = port;
	}
	*actual = given;
	return SUCCESS;
}

int hlml_nic_get_statistics(void *device, struct nic_stats_info *info)
{
	static const char *const names[] = {"spmu_req_out_of_range_psn", "eth_rx_fcs_errors", "pcs_link_toggles"};
	int code = ready(device);

	if (code || !info || info->port >= PORTS || !info->str_buf || !info->val_buf || !info->num_of_counters_out)
		return code ? code : INVALID_ARGUMENT;
	for (unsigned int n = 0; n < 3; n++) {
		snprintf(info->str_buf + 32 * n, 32, "%s", names[n]);
		info->val_buf[n] = 0;
	}
	*info->num_of_counters_out = 3;
	return SUCCESS;
}

/* ---- place ---- */

static int processors(void *device, unsigned int size, unsigned long *set)
{
	char text[LINE], *rest = text;
	int code = ready(device);

	if (code || !set)
		return code ? code : INVALID_ARGUMENT;
	memset(set, 0, size * sizeof *set);
	if (!look_up(device, "cpu_mask", text, sizeof text))
		return NOT_SUPPORTED;
	for (unsigned int n = 0; n < size; n++)
		set[n] = strtoul(rest, &rest, 16);
	return SUCCESS;
}

int hlml_device_get_cpu_affinity(void *device, unsigned int size, unsigned long *set)
{
	return processors(device, size, set);
}

int hlml_device_get_cpu_affinity_within_scope(void *device, unsigned int size, unsigned long *set, unsigned int scope)
{
	return scope > 1 ? INVALID_ARGUMENT : processors(device, size, set);
}

int hlml_device_get_memory_affinity(void *device, unsigned int size, unsigned long *set, unsigned int scope)
{
	int code = ready(device);

	if (code || !set || !size || scope > 1)
		return code ? code : INVALID_ARGUMENT;
	memset(set, 0, size * sizeof *set);
	set[0] = 1UL << number_of(device, "numa_node");
	return SUCCESS;
}

/* Of the calling thread, as the C API says. */
int hlml_device_set_cpu_affinity(void *device)
{
	unsigned long mask[16];
	int code = processors(device, 16, mask);
	cpu_set_t set;

	if (code)
		return code;
	CPU_ZERO(&set);
	for (int cpu = 0; cpu < 16 * 64; cpu++)
		if (mask[cpu / 64] >> cpu % 64 & 1)
			CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof set, &set) ? UNKNOWN : SUCCESS;
}

int hlml_device_clear_cpu_affinity(void *device)
{
	int code = ready(device);
	cpu_set_t set;

	if (code)
		return code;
	memset(&set, 0xff, sizeof set);
	return sched_setaffinity(0, sizeof set, &set) ? UNKNOWN : SUCCESS;
}

/* ---- what changes a card: by the simulated hl-smi, which knows how ---- */

int hlml_device_set_power_management_limit(void *device, unsigned int limit)
{
	const struct card *card = device;
	int code = ready(device), status;
	char watts[16];
	pid_t child;

	if (code)
		return code;
	if (limit < number_of(card, "least_limit") || limit > number_of(card, "most_limit"))
		return INVALID_ARGUMENT;
	snprintf(watts, sizeof watts, "%u", limit / 1000);
	child = fork();
	if (!child) {
		if (!freopen("/dev/null", "w", stdout))
			_exit(127);
		execl(HL_SMI, HL_SMI, "-i", card->address, "-p", watts, (char *)NULL);
		_exit(127);
	}
	return child > 0 && waitpid(child, &status, 0) == child && !status ? SUCCESS : UNKNOWN;
}

/* ---- events: a memory error that came since they were asked for ---- */

int hlml_event_set_create(void **set)
{
	if (!started || !set)
		return started ? INVALID_ARGUMENT : UNINITIALIZED;
	for (int n = 0; n < MOST_SETS; n++)
		if (!sets[n].used) {
			sets[n] = (struct event_set){.used = true};
			*set = &sets[n];
			return SUCCESS;
		}
	return INSUFFICIENT_SIZE;
}

static struct event_set *set_at(void *set)
{
	struct event_set *found = set;

	return found >= sets && found < sets + MOST_SETS && found->used ? found : NULL;
}

int hlml_event_set_free(void *set)
{
	struct event_set *found = set_at(set);

	if (!found)
		return INVALID_ARGUMENT;
	found->used = false;
	return SUCCESS;
}

int hlml_device_register_events(void *device, unsigned long long types, void *set)
{
	struct event_set *found = set_at(set);
	int code = ready(device);

	if (code || !found)
		return code ? code : INVALID_ARGUMENT;
	found->types[(struct card *)device - cards] = types;
	found->seen[(struct card *)device - cards] = number_of(device, "ecc_1");
	return SUCCESS;
}

int hlml_event_set_wait(void *set, struct event_data *data, unsigned int milliseconds)
{
	struct event_set *found = set_at(set);
	unsigned long long until = now_us() + milliseconds * 1000ULL;

	if (!found || !data)
		return INVALID_ARGUMENT;
	do {
		for (int n = 0; n < MOST_CARDS; n++) {
			unsigned long long errors = found->types[n] & EVENT_DRAM_DERR ? number_of(&cards[n], "ecc_1") : 0;

			if (errors <= found->seen[n])
				continue;
			found->seen[n] = errors;
			data->device = &cards[n];
			data->event_type = EVENT_DRAM_DERR;
			return SUCCESS;
		}
		usleep(20000);
	} while (now_us() < until);
	return TIMEOUT;
}
