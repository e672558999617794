// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/rdma/traffic.h"

#include <algorithm>
#include <cstring>

#include "apps/verbline/bench/rdma/bandwidth.h"
#include "apps/verbline/bench/rdma/latency.h"

namespace verbline::rdma_bench {
namespace {

std::uint64_t number_at(std::span<const std::byte> bytes) {
    std::uint64_t number = 0;
    std::memcpy(&number, bytes.data(), sizeof number);
    return number;
}

}  // namespace

void Traffic::prepare() {
    for (std::size_t pair = 0; pair < pairs_.count(); ++pair) {
        fill(pairs_.outgoing(pair).first(round_.size), end_, round_.index);
        if (pairs_.spec().atomic()) std::ranges::fill(pairs_.incoming(pair), std::byte{0});
        // The end of a ping-pong by WRITE looks at the last byte.
        if (pairs_.spec().measure == Measure::latency) pairs_.incoming(pair)[round_.size - 1] = std::byte{0};
    }
}

bool Traffic::contents_are_right(const Account& peer_account) const {
    const auto& spec = pairs_.spec();
    const bool counts = spec.measure == Measure::latency && spec.operation == Operation::write;
    const auto checked = round_.size - (counts ? 1 : 0);
    if (spec.atomic()) return atomics() == peer_account.sent;
    for (std::size_t pair = 0; pair < pairs_.count(); ++pair)
        if (filled(pair) && !is_filled(pairs_.incoming(pair).first(checked), peer(), round_.index)) return false;
    return true;
}

std::uint64_t Traffic::atomics() const {
    std::uint64_t sum = 0;
    for (std::size_t pair = 0; pair < pairs_.count(); ++pair) sum += number_at(pairs_.incoming(pair));
    return sum;
}

Account Traffic::account() const {
    auto made = counts();
    made.index = round_.index;
    if (pairs_.spec().atomic()) made.atomics = atomics();
    add_figures(made);
    return made;
}

std::unique_ptr<Traffic> make_traffic(Pairs& pairs, const Round& round, End end) {
    const auto& spec = pairs.spec();
    if (spec.measure == Measure::bandwidth) return std::make_unique<Bandwidth>(pairs, round, end);
    if (!spec.awaits_response()) return std::make_unique<PingPong>(pairs, round, end);
    if (end == End::client) return std::make_unique<RoundTrips>(pairs, round, end);
    return std::make_unique<Bandwidth>(pairs, round, end);  // which has nothing to do
}

}  // namespace verbline::rdma_bench
