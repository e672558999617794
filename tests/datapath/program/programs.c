/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs of the tests, each in a section of its own: some do what they may, in all ways; the others are to be refused. */
#include <verbline_program.h>

VERBLINE_DECLARE_PORT(right);
VERBLINE_DECLARE_PORT(nowhere);

VERBLINE_PROGRAM("pass") verbline_u64 pass_all(struct verbline_packet *packet) {
    (void)packet;
    return VERBLINE_PASS;
}

VERBLINE_PROGRAM("drop") verbline_u64 drop_all(struct verbline_packet *packet) {
    (void)packet;
    return VERBLINE_DROP;
}

/* By the last byte of an IPv4 packet's source. */
VERBLINE_PROGRAM("by_source") verbline_u64 verdict_by_source(struct verbline_packet *packet) {
    switch (packet->data[15]) {
    case 1: return VERBLINE_DROP;
    case 2: return VERBLINE_FORWARD(VERBLINE_PORT(right));
    case 3: return VERBLINE_FORWARD(99);
    case 4: return VERBLINE_ABORT;
    case 5: return 77;
    case 6: return VERBLINE_DROP | 1 << 8;
    case 7: return 1000 / packet->data[1];
    default: return VERBLINE_PASS;
    }
}

VERBLINE_PROGRAM("forward") verbline_u64 forward_all(struct verbline_packet *packet) {
    (void)packet;
    return VERBLINE_FORWARD(VERBLINE_PORT(right));
}

VERBLINE_PROGRAM("count") verbline_u64 count_all(struct verbline_packet *packet) {
    (void)packet;
    verbline_counters[3]++;
    verbline_state[0]++;
    verbline_counters[4] = verbline_state[0];
    return VERBLINE_PASS;
}

/* What it is shown becomes counters, and then it is overwritten. */
VERBLINE_PROGRAM("look") verbline_u64 look_at(struct verbline_packet *packet) {
    verbline_counters[0] = packet->time;
    verbline_counters[1] = packet->length;
    verbline_counters[2] = packet->available;
    verbline_counters[3] = packet->port;
    verbline_counters[4] = packet->core;
    verbline_counters[5] = packet->cores;
    verbline_counters[6] = packet->family;
    verbline_counters[7] = packet->data[0];
    verbline_counters[8] = packet->data[VERBLINE_DATA_SIZE - 1];
    verbline_counters[9] = packet->data[40];
    verbline_counters[10] = verbline_from_network16(packet->ipv4.total_length);
    verbline_counters[11] = verbline_from_network32(packet->ipv4.source);
    packet->length = 0;
    packet->port = 1;
    packet->family = 9;
    packet->data[0] = 0;
    packet->data[VERBLINE_DATA_SIZE - 1] = 0xff;
    return VERBLINE_PASS;
}

/* The first byte behind an IPv4 header, whose size it reads. */
VERBLINE_PROGRAM("behind_header") verbline_u64 look_behind_header(struct verbline_packet *packet) {
    verbline_u32 header = (packet->ipv4.version_and_words & 15) * 4;
    verbline_counters[0] = packet->data[header];
    return VERBLINE_PASS;
}

VERBLINE_PROGRAM("look_up") verbline_u64 look_up_source(struct verbline_packet *packet) {
    if (packet->family == 4) {
        verbline_counters[0] = verbline_prefix_ipv4(packet->ipv4.source);
        return VERBLINE_PASS;
    }
    verbline_u8 copy[16]; /* of the stack */
    for (int i = 0; i < 16; ++i) copy[i] = packet->ipv6.source[i];
    verbline_counters[0] = verbline_prefix_ipv6(copy);
    verbline_counters[1] = verbline_prefix_ipv6(packet->ipv6.destination);
    return VERBLINE_PASS;
}

/* From here on refused. */

VERBLINE_PROGRAM("beyond") verbline_u64 read_beyond(struct verbline_packet *packet) {
    return packet->data[packet->length];
}

VERBLINE_PROGRAM("beyond_counters") verbline_u64 write_beyond_counters(struct verbline_packet *packet) {
    verbline_counters[packet->data[0]]++;
    return VERBLINE_PASS;
}

VERBLINE_PROGRAM("loop") verbline_u64 loop_for_long(struct verbline_packet *packet) {
    verbline_u64 sum = 0;
    _Pragma("clang loop unroll(disable)") for (verbline_u32 i = 0; i < packet->length; ++i) sum = sum * 3 + packet->data[i & 127];
    return sum;
}

verbline_u64 verbline_unknown(verbline_u64 number);
VERBLINE_PROGRAM("unknown") verbline_u64 call_unknown(struct verbline_packet *packet) {
    return verbline_unknown(packet->time);
}

VERBLINE_PROGRAM("unknown_port") verbline_u64 forward_to_nowhere(struct verbline_packet *packet) {
    (void)packet;
    return VERBLINE_FORWARD(VERBLINE_PORT(nowhere));
}

static verbline_u64 of_this_object;
VERBLINE_PROGRAM("own_data") verbline_u64 count_own(struct verbline_packet *packet) {
    return of_this_object += packet->length;
}

__attribute__((noinline, section("own_function"))) verbline_u64 own_helper(verbline_u64 number) {
    __asm__ volatile("");
    return number;
}
VERBLINE_PROGRAM("own_function") verbline_u64 call_own(struct verbline_packet *packet) {
    return own_helper(packet->time) + 1;
}

VERBLINE_PROGRAM("kernel_function") verbline_u64 call_kernel(struct verbline_packet *packet) {
    return ((verbline_u64(*)(verbline_u64))5)(packet->time);
}

/* A pointer that is a number for the verifier. */
VERBLINE_PROGRAM("number_as_pointer") verbline_u64 read_number(struct verbline_packet *packet) {
    return *(verbline_u64 *)packet->time;
}
