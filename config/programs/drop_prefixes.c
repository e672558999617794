/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drops packets whose source is in the port's set of prefixes, and counts them by the prefix's value.
 *
 *     clang -O2 -target bpf -mcpu=v2 -c drop_prefixes.c -o drop_prefixes.o
 *     verbline program load lan drop_prefixes.o
 *     verbline program prefix add lan 10.9.0.0/16 fd76:9::/32
 */
#include <verbline_program.h>

VERBLINE_PROGRAM("drop_prefixes") verbline_u64 drop_by_source(struct verbline_packet* packet) {
    verbline_u64 value = verbline_prefix_of_source(packet);
    if (value == 0) return VERBLINE_PASS;
    verbline_counters[value % VERBLINE_COUNTERS]++;
    return VERBLINE_DROP;
}
