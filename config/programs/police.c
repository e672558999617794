/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lets at most RATE bytes a second pass to the destinations in the port's set of prefixes, with bursts of BURST bytes:
 * a token bucket for each value from 1 to 63 of the prefixes. All other packets pass.
 *
 *     clang -O2 -target bpf -mcpu=v2 -DRATE=12500000 -c police.c -o police.o
 *     verbline program load lan police.o
 *     verbline program prefix add lan 10.2.0.0/24 --value 1
 */
#include <verbline_program.h>

#ifndef RATE
#define RATE 12500000ull /* bytes a second: 100 Mbit/s */
#endif
#ifndef BURST
#define BURST 131072ull /* bytes; at least one packet as the port receives it */
#endif

#define SECOND 1000000000ull

/* The state holds, by value, the time at which the bucket was last empty: so refilling is a subtraction. */
VERBLINE_PROGRAM("police") verbline_u64 police_destinations(struct verbline_packet* packet) {
    verbline_u64 value = verbline_prefix_of_destination(packet);
    if (value == 0) return VERBLINE_PASS;
    verbline_u64 bucket = value % VERBLINE_COUNTERS;
    /* Each core has its part of the rate. */
    verbline_u64 cost = packet->length * (SECOND * 1000 / RATE) * packet->cores / 1000;
    verbline_u64 depth = BURST * (SECOND * 1000 / RATE) * packet->cores / 1000;
    verbline_u64 empty_at = verbline_state[bucket];
    if (packet->time > depth && empty_at < packet->time - depth) empty_at = packet->time - depth;
    if (empty_at + cost > packet->time) {
        verbline_counters[bucket]++;
        return VERBLINE_DROP;
    }
    verbline_state[bucket] = empty_at + cost;
    return VERBLINE_PASS;
}
