// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/rdma/latency.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <span>
#include <tuple>

#include "pmd/base/clock.h"

namespace verbline::rdma_bench {
namespace {

constexpr std::uint64_t most_times = 10'000'000;  ///< kept, of a round by time

}  // namespace

LatencyTraffic::LatencyTraffic(Pairs& pairs, const Round& round, End end)
    : Traffic(pairs, round, end), request_(pairs.request(0, round.size, segment_)) {
    request_.flags |= transport::send_signalled;
    if (end == End::client) times_.reserve(std::min(round.iterations, most_times));
}

bool LatencyTraffic::answered(Time now) {
    if (times_.size() < most_times) times_.push_back(now - posted_at_);
    ++exchanges_;
    return round_.iterations > 0 ? exchanges_ == round_.iterations : now - first_ >= round_.duration;
}

/// By the thread that polls the shard: transmits at once.
void LatencyTraffic::post(std::uint64_t number, Time now) {
    posted_at_ = now;
    if (first_ == 0) first_ = now;
    auto& pair = pairs_.sender(0);
    if (request_.operation == transport::SendOperation::write)
        pairs_.outgoing(0)[round_.size - 1] = static_cast<std::byte>(number);
    if (request_.operation == transport::SendOperation::compare_swap)
        request_.compare = number - 1, request_.swap_or_add = number;
    std::ignore = pair.stage(request_);
    pair.publish();
    if (!pair.send(now)) pair.ring();
}

bool LatencyTraffic::take_sent(std::uint64_t& completed) {
    std::array<transport::Completion, 16> completions;
    const auto n = pairs_.sent().poll(completions);
    for (const auto& completion : std::span(completions).first(n)) {
        if (completion.status == transport::Status::success) continue;
        failed(completion.status);
        return false;
    }
    completed += n;
    return true;
}

Traffic::Step PingPong::step(Time now) {
    if (!take_sent(completed_)) return Step::failed;
    if (end_ == End::client && !waiting_) {
        if (exchanges() > 0) return completed_ == sent_ ? Step::done : Step::working;
        waiting_ = true;
        post(++sent_, monotonic_now());
        return Step::working;
    }
    if (!arrived()) return failure() == transport::Status::success ? Step::working : Step::failed;
    if (end_ == End::server) {
        post(++sent_, now);
        return Step::working;
    }
    const auto arrival = monotonic_now();  // `now` is of before the poll
    waiting_ = !answered(arrival);
    if (waiting_) post(++sent_, arrival);
    return Step::working;
}

/// The next message of the peer is there, in whole.
bool PingPong::arrived() {
    if (pairs_.spec().one_sided()) {
        const auto last = std::atomic_ref(pairs_.incoming(0)[round_.size - 1]).load(std::memory_order_relaxed);
        if (last != static_cast<std::byte>(received_ + 1)) return false;
        ++received_, received_bytes_ += round_.size;
        return true;
    }
    transport::Completion completion;
    if (pairs_.received().poll({&completion, 1}) == 0) return false;
    if (completion.status != transport::Status::success) {
        failed(completion.status);
        return false;
    }
    ++received_, received_bytes_ += completion.length - (pairs_.spec().transport == Transport::ud ? route_room : 0);
    std::ignore = pairs_.post_receives(0, 1);
    return true;
}

Account PingPong::counts() const {
    return {.sent = sent_, .received = received_, .received_bytes = received_bytes_};
}

Traffic::Step RoundTrips::step(Time /*now*/) {
    const auto before = completed_;
    if (!take_sent(completed_)) return Step::failed;
    if (sent_ > 0 && completed_ == before) return exchanges() == sent_ ? Step::done : Step::working;
    const auto now = monotonic_now();
    if (sent_ > 0 && answered(now)) return Step::done;
    post(++sent_, now);
    return Step::working;
}

Account RoundTrips::counts() const {
    return {.sent = sent_};
}

}  // namespace verbline::rdma_bench
