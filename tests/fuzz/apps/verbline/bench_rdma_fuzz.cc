// SPDX-License-Identifier: BSD-3-Clause
// What any host sends to a server of bench rdma is a test and a round within their bounds, or neither.

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <span>

#include "apps/verbline/bench/rdma/messages.h"

namespace {

using namespace verbline::rdma_bench;

void require(bool holds) {
    if (!holds) std::abort();
}

void check_test(const TestSpec& spec) {
    require(spec.pairs >= 1 && spec.pairs <= most_pairs && spec.memory() <= most_memory);
    require(spec.requests() <= most_requests);
    require(spec.largest >= 1 && spec.largest <= largest_message && spec.stride() >= spec.largest + route_room);
    require(spec.tx_depth >= 1 && spec.tx_depth <= deepest_queue && spec.rx_depth >= 1 &&
            spec.rx_depth <= deepest_queue);
    require(spec.post_list >= 1 && spec.post_list <= spec.tx_depth && spec.reads >= 1 && spec.reads <= most_reads);
    require(!spec.atomic() || (spec.largest == 8 && spec.reliable()));
    require(!spec.awaits_response() || spec.reliable());
    require(Hello::of(spec).spec() == spec);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    constexpr std::size_t messages = 2;
    Payload payloads[messages]{};
    for (auto& payload : payloads) {
        const auto length = std::min(size, payload.size());
        std::ranges::copy(std::as_bytes(std::span(data, length)), payload.begin());
        data += length, size -= length;
    }
    const auto spec = read_payload<Hello>(payloads[0]).spec();
    if (!spec) return 0;
    check_test(*spec);
    const auto round = read_payload<Begin>(payloads[1]).round(*spec);
    if (!round) return 0;
    require(round->size >= 1 && round->size <= spec->largest);
    // A queue whose completions are all to come has room for a list.
    require(round->cq_moderation - 1 + spec->post_list <= spec->tx_depth);
    require(Begin::of(*round).round(*spec) == round);
    return 0;
}
