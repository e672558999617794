// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/rdma/bandwidth.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "pmd/base/clock.h"

namespace verbline::rdma_bench {
namespace {

constexpr std::size_t batch = 64;
constexpr unsigned pair_bits = 16;  ///< of a request's id; above, how many messages its completion is of
constexpr std::uint64_t pair_mask = (1 << pair_bits) - 1;
static_assert(most_pairs <= 1 << pair_bits);

std::optional<std::uint64_t> total(const Round& round, std::size_t pairs) {
    return round.iterations > 0 ? std::optional(round.iterations * pairs) : std::nullopt;
}

}  // namespace

Bandwidth::Bandwidth(Pairs& pairs, const Round& round, End end)
    : Traffic(pairs, round, end), queues_(pairs.count()), peak_(total(round, pairs.count())) {
    for (std::size_t pair = 0; pair < queues_.size(); ++pair) {
        auto& queue = queues_[pair];
        queue.list.assign(pairs.spec().post_list, pairs.request(pair, round.size, queue.segment));
    }
}

Traffic::Step Bandwidth::step(Time now) {
    if (sends() && !over_) {
        if (!began_at_all_) began_ = now, began_at_all_ = true;
        if (timed() && !stopping_ && now - began_ >= round_.duration) end_of_time(now);
        for (std::size_t pair = 0; pair < queues_.size(); ++pair) post(pair, now);
    }
    if (!take_sent() || !take_received()) return Step::failed;
    over_ =
        !sends() || (completed_ == posted_ && (timed() ? stopping_ : posted_ == round_.iterations * queues_.size()));
    return over_ ? Step::done : Step::working;
}

/// Messages that a queue is yet to post.
std::uint64_t Bandwidth::wanted(const Queue& queue) const {
    if (stopping_) return 0;
    return timed() ? std::numeric_limits<std::uint64_t>::max() : round_.iterations - queue.posted;
}

void Bandwidth::post(std::size_t pair, Time now) {
    auto& queue = queues_[pair];
    while (const auto left = wanted(queue)) {
        const auto count = std::min<std::uint64_t>(queue.list.size(), left);
        if (queue.posted - queue.completed + count > pairs_.spec().tx_depth) return;
        peak_.posted(posted_, now);
        post_list(pair, count, count == left);
    }
}

/// `last`: the last of them says when it is complete.
void Bandwidth::post_list(std::size_t pair, std::uint64_t count, bool last) {
    auto& queue = queues_[pair];
    for (std::uint64_t i = 0; i < count; ++i) {
        auto& request = queue.list[i];
        const auto number = queue.posted + i + 1;
        const bool signal = number % round_.cq_moderation == 0 || (last && i + 1 == count);
        request.flags = static_cast<std::uint8_t>((request.flags & ~transport::send_signalled) |
                                                  (signal ? transport::send_signalled : 0));
        if (signal) {
            request.id = (number - queue.signalled) << pair_bits | pair;
            queue.signalled = number;
        }
        // Each finds the number that the last one left.
        if (request.operation == transport::SendOperation::compare_swap)
            request.compare = number - 1, request.swap_or_add = number;
    }
    // Accepted, as there is room; else its completion is missed, which is noticed.
    std::ignore = pairs_.sender(pair).post(std::span<const transport::SendRequest>(queue.list).first(count));
    queue.posted += count, posted_ += count;
}

/// What is complete by now counts. What is under way comes to its end, with a message that says so if none does.
void Bandwidth::end_of_time(Time now) {
    stopping_ = true;
    in_time_ = {.messages = completed_, .elapsed = now - began_};
    for (std::size_t pair = 0; pair < queues_.size(); ++pair)
        if (queues_[pair].posted != queues_[pair].signalled) post_list(pair, 1, true);
}

bool Bandwidth::take_sent() {
    std::array<transport::Completion, batch> completions;
    for (auto n = pairs_.sent().poll(completions); n > 0; n = pairs_.sent().poll(completions)) {
        for (const auto& completion : std::span(completions).first(n)) {
            if (completion.status != transport::Status::success) {
                failed(completion.status);
                return false;
            }
            const auto count = completion.id >> pair_bits;
            queues_[completion.id & pair_mask].completed += count;
            completed_ += count;
        }
        last_completion_ = monotonic_now();
        peak_.completed(completed_, last_completion_);
    }
    return true;
}

bool Bandwidth::take_received() {
    if (pairs_.spec().one_sided()) return true;
    const auto route = pairs_.spec().transport == Transport::ud ? route_room : 0;
    std::array<transport::Completion, batch> completions;
    for (auto n = pairs_.received().poll(completions); n > 0; n = pairs_.received().poll(completions)) {
        for (const auto& completion : std::span(completions).first(n)) {
            if (completion.status != transport::Status::success) {
                failed(completion.status);
                return false;
            }
            auto& queue = queues_[completion.id];
            ++queue.taken, queue.filled = true;
            received_bytes_ += completion.length - route;
        }
        received_ += n;
        for (std::size_t pair = 0; pair < queues_.size(); ++pair)
            if (const auto taken = std::exchange(queues_[pair].taken, 0); taken > 0)
                std::ignore = pairs_.post_receives(pair, taken);
    }
    return true;
}

Account Bandwidth::counts() const {
    return {.sent = completed_, .received = received_, .received_bytes = received_bytes_};
}

void Bandwidth::add_figures(Account& account) const {
    const auto made = figures();
    account.timed_messages = made.messages;
    account.elapsed = static_cast<std::uint64_t>(made.elapsed);
    account.peak_picos = static_cast<std::uint64_t>(1000 * made.peak_nanoseconds.value_or(0));
}

BandwidthFigures Bandwidth::figures() const {
    if (timed()) return in_time_;
    return {.messages = completed_, .elapsed = last_completion_ - began_, .peak_nanoseconds = peak_.nanoseconds()};
}

}  // namespace verbline::rdma_bench
