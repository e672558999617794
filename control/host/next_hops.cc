// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/next_hops.h"

#include <algorithm>
#include <cerrno>

#include "pmd/base/clock.h"

namespace verbline::host {
namespace {

constexpr Time query_timeout = 200 * millisecond;  ///< the kernel keeps soliciting meanwhile

}  // namespace

std::optional<wire::MacAddress> NextHops::find(const wire::Gid& from, const wire::Gid& to) {
    if (neighbours_ != nullptr) return neighbours_->find(to);
    const std::scoped_lock lock(mutex_);
    const auto* const answer = valid_answer({from, to});
    return answer != nullptr && answer->mac ? std::optional(*answer->mac) : std::nullopt;
}

int NextHops::failure_of(const wire::Gid& from, const wire::Gid& to) {
    const std::scoped_lock lock(mutex_);
    const auto* const answer = valid_answer({from, to});
    return answer != nullptr && !answer->mac ? answer->mac.error() : 0;
}

const NextHops::Answer* NextHops::valid_answer(const Question& question) const {
    const auto found = answers_.find(question);
    return found != answers_.end() && found->second.until >= monotonic_now() ? &found->second : nullptr;
}

void NextHops::resolve(const wire::Gid& from, const wire::Gid& to) {
    if (neighbours_ != nullptr) return neighbours_->resolve(to);
    const Question question{from, to};
    const std::scoped_lock lock(mutex_);
    if (waits(question)) return;
    if (asked_.size() >= max_queries) return counters_.next_hop_queries_dropped.add();
    counters_.next_hop_queries.add();
    if (!resolver_.joinable()) {
        auto started = QuietThread::start([this](const std::stop_token& stop) { resolve(stop); });
        if (!started) return counters_.next_hop_failures.add();  // the caller times out
        resolver_ = std::move(*started);
    }
    asked_.push_back({question, monotonic_now() + resolution_timeout});
    more_.notify_one();
}

bool NextHops::resolving(const wire::Gid& from, const wire::Gid& to) {
    if (neighbours_ != nullptr) return neighbours_->resolving(to);
    const std::scoped_lock lock(mutex_);
    return waits({from, to});
}

bool NextHops::waits(const Question& question) const {
    return resolving_ == question || std::ranges::find(asked_, question, &Asked::question) != asked_.end();
}

void NextHops::on_answer(std::function<void()> notify) {
    if (neighbours_ != nullptr) return neighbours_->on_answer(std::move(notify));
    const std::scoped_lock lock(mutex_);
    notify_ = std::move(notify);
}

void NextHops::resolve(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (more_.wait(lock, stop, [this] { return !asked_.empty(); }), !stop.stop_requested()) {
        const auto asked = asked_.front();
        asked_.pop_front();
        resolving_ = asked.question;
        lock.unlock();
        const auto mac = query_(asked.question.first, asked.question.second, query_timeout);
        lock.lock();
        resolving_.reset();
        if (!answer(asked, mac)) asked_.push_back(asked);
    }
}

/// False: the query is to be repeated. EHOSTUNREACH: the kernel's resolution has failed, perhaps of an earlier request.
bool NextHops::answer(const Asked& asked, const Result<wire::MacAddress>& mac) {
    const auto now = monotonic_now();
    const bool silent = !mac && (mac.error().code == ETIMEDOUT || mac.error().code == EHOSTUNREACH);
    if (silent && now < asked.give_up) return false;
    if (answers_.size() >= max_answers)
        std::erase_if(answers_, [&](const auto& one) { return one.second.until < now; });
    if (answers_.size() >= max_answers) answers_.clear();
    if (!mac) counters_.next_hop_failures.add();
    answers_.insert_or_assign(asked.question, mac ? Answer{*mac, now + answer_lifetime}
                                                  : Answer{std::unexpected(mac.error().code), now + failure_lifetime});
    if (notify_) notify_();
    return true;
}

}  // namespace verbline::host
