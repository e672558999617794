// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/rdma/messages.h"

#include <array>
#include <bit>

namespace verbline::rdma_bench {
namespace {

constexpr bool within(std::uint64_t value, std::uint64_t least, std::uint64_t most) {
    return least <= value && value <= most;
}

bool in_bounds(const Hello& hello) {
    return hello.operation <= Operation::compare_swap && hello.transport <= Transport::xrc &&
           hello.measure <= Measure::latency && hello.bidirectional <= 1 && within(hello.pairs, 1, most_pairs) &&
           within(hello.tx_depth, 1, deepest_queue) && within(hello.rx_depth, 1, deepest_queue) &&
           within(hello.post_list, 1, hello.tx_depth) && hello.inline_bytes <= most_inline &&
           within(hello.reads, 1, most_reads) && within(hello.mtu, 256, 4096) && std::has_single_bit(hello.mtu) &&
           within(hello.largest, 1, largest_message);
}

/// IBTA volume 1, table 38: what each transport service has.
bool supported(const TestSpec& spec) {
    if (spec.transport == Transport::ud) return spec.operation == Operation::send && spec.largest <= spec.mtu;
    if (spec.transport == Transport::uc) return !spec.awaits_response();
    return !spec.atomic() || spec.largest == sizeof(std::uint64_t);
}

}  // namespace

const char* text(Refusal refusal) {
    switch (refusal) {
        case Refusal::none: return "none";
        case Refusal::version: return "it is of another version of verbline";
        case Refusal::unsupported: return "it does not know this test";
        case Refusal::occupied: return "it serves another client";
        case Refusal::no_memory: return "it has not enough memory for so many queue pairs and bytes";
    }
    return "for a reason that this version does not know";
}

Hello Hello::of(const TestSpec& spec) {
    return {.operation = spec.operation,
            .transport = spec.transport,
            .measure = spec.measure,
            .bidirectional = spec.bidirectional,
            .pairs = spec.pairs,
            .tx_depth = spec.tx_depth,
            .rx_depth = spec.rx_depth,
            .post_list = spec.post_list,
            .inline_bytes = spec.inline_bytes,
            .reads = spec.reads,
            .mtu = spec.mtu,
            .largest = spec.largest};
}

std::optional<TestSpec> Hello::spec() const {
    if (!in_bounds(*this)) return std::nullopt;
    const TestSpec made{.operation = operation,
                        .transport = transport,
                        .measure = measure,
                        .bidirectional = bidirectional != 0,
                        .pairs = pairs,
                        .tx_depth = tx_depth,
                        .rx_depth = rx_depth,
                        .post_list = post_list,
                        .inline_bytes = inline_bytes,
                        .reads = reads,
                        .mtu = mtu,
                        .largest = largest};
    if (!supported(made) || made.memory() > most_memory || made.requests() > most_requests) return std::nullopt;
    return made;
}

Begin Begin::of(const Round& round) {
    return {.index = round.index,
            .bytes = round.size,
            .iterations = round.iterations,
            .duration = static_cast<std::uint64_t>(round.duration),
            .cq_moderation = round.cq_moderation};
}

std::optional<Round> Begin::round(const TestSpec& spec) const {
    constexpr std::uint64_t longest = 1'000'000'000;  // seconds
    const bool possible = index < most_rounds && within(bytes, 1, spec.largest) && duration / second <= longest &&
                          (iterations > 0) != (duration > 0) && iterations <= std::uint64_t{1} << 40 &&
                          within(cq_moderation, 1, spec.tx_depth - spec.post_list + 1);
    if (!possible) return std::nullopt;
    return Round{.index = index,
                 .size = bytes,
                 .iterations = iterations,
                 .duration = static_cast<Time>(duration),
                 .cq_moderation = cq_moderation};
}

}  // namespace verbline::rdma_bench
