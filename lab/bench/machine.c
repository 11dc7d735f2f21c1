/* SPDX-License-Identifier: BSD-2-Clause */
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define STAT_FIELDS 8 /* user nice system idle iowait irq softirq steal */

static void read_ticks(uint64_t *all, uint64_t *steal)
{
    unsigned long long field[STAT_FIELDS] = {0};
    FILE *file = fopen("/proc/stat", "r");
    *all = *steal = 0;
    if (!file)
        return;
    if (fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &field[0], &field[1],
               &field[2], &field[3], &field[4], &field[5], &field[6],
               &field[7]) == STAT_FIELDS) {
        for (int i = 0; i < STAT_FIELDS; i++)
            *all += field[i];
        *steal = field[STAT_FIELDS - 1];
    }
    fclose(file);
}

static double load_average(void)
{
    double load;
    return getloadavg(&load, 1) == 1 ? load : -1;
}

void machine_begin(struct machine *machine)
{
    struct utsname name;
    memset(machine, 0, sizeof *machine);
    machine->cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (uname(&name) == 0)
        snprintf(machine->kernel, sizeof machine->kernel, "%s %s", name.sysname, name.release);
    machine->load_before = load_average();
    machine->floor_spread_percent = -1;
    read_ticks(&machine->cpu_start, &machine->steal_start);
}

void machine_end(struct machine *machine)
{
    uint64_t all, steal;
    machine->load_after = load_average();
    read_ticks(&all, &steal);
    if (all > machine->cpu_start)
        machine->steal_percent =
            100.0 * (double)(steal - machine->steal_start) / (double)(all - machine->cpu_start);
}
