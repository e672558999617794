// SPDX-License-Identifier: BSD-3-Clause
#include "control/mad/transactions.h"

#include <algorithm>

#include "datapath/wire/bytes.h"
#include "datapath/wire/mad.h"

namespace verbline::mad {

namespace {

constexpr std::size_t tid_at = 12;  // the low half of MADHeader:TransactionID

bool answers(MadBytes response, const MadBuffer& request) {
    constexpr std::size_t class_at = 1, attribute_at = 16;
    return response[class_at] == request[class_at] &&
           wire::load16(response, attribute_at) == wire::load16(request, attribute_at);
}

bool busy(MadBytes response) {
    return (wire::load16(response, 4) & 1) != 0;
}  // IBTA 13.4.7

}  // namespace

std::optional<Ticket> Transactions::start(const MadBuffer& request, const MadAddress& to, const Patience& patience,
                                          Time now, Actions& out) {
    if (queue_.size() >= max_queued) {
        counters_.queue_full.add();
        return std::nullopt;
    }
    counters_.requests.add();
    Transaction transaction{.ticket = Ticket{++last_ticket_}, .mad = request, .to = to, .patience = patience};
    const auto ticket = transaction.ticket;
    if (outstanding_.size() < max_outstanding) {
        launch(transaction, now, out);
    } else {
        queue_.push_back(transaction);
    }
    return ticket;
}

void Transactions::launch(Transaction transaction, Time now, Actions& out) {
    const auto tid = next_tid_++;
    wire::store64(transaction.mad, tid_at - 4, tid);
    transaction.wait = transaction.patience.timeout;
    transaction.due = now + transaction.wait;
    out.push_back(Send{transaction.to, transaction.mad, transaction.wait});
    agenda_.emplace(transaction.due, tid);
    outstanding_.emplace(tid, transaction);
}

void Transactions::launch_queued(Time now, Actions& out) {
    while (!queue_.empty() && outstanding_.size() < max_outstanding) {
        launch(queue_.front(), now, out);
        queue_.pop_front();
    }
}

void Transactions::received(MadBytes mad, Time now, Actions& out) {
    const auto tid = wire::load32(mad, tid_at);
    const auto it = outstanding_.find(tid);
    if (it == outstanding_.end()) return count_stray(tid);
    if (!answers(mad, it->second.mad)) return counters_.rx_dropped_mismatched_response.add();
    if (busy(mad) && it->second.repeats < it->second.patience.retries)
        return counters_.busy.add();  // retransmitted when due
    counters_.responses.add();
    Done done{.ticket = it->second.ticket, .response = MadBuffer{}};
    std::ranges::copy(mad, done.response->begin());
    finish(tid, End::answered);
    out.push_back(done);
    launch_queued(now, out);
}

void Transactions::tick(Time now, Actions& out) {
    while (!agenda_.empty() && agenda_.begin()->first <= now) {
        const auto tid = agenda_.begin()->second;
        auto& transaction = outstanding_.at(tid);
        if (transaction.repeats == transaction.patience.retries) {
            counters_.timeouts.add();
            out.push_back(Done{.ticket = transaction.ticket, .response = std::nullopt});
            finish(tid, End::abandoned);
            continue;
        }
        counters_.retries.add();
        ++transaction.repeats;
        transaction.wait = std::min(transaction.wait * 2, transaction.patience.limit);
        agenda_.erase(agenda_.begin());
        transaction.due = now + transaction.wait;
        agenda_.emplace(transaction.due, tid);
        out.push_back(Send{transaction.to, transaction.mad, transaction.wait});
    }
    launch_queued(now, out);
}

std::optional<Time> Transactions::deadline() const {
    return agenda_.empty() ? std::nullopt : std::optional(agenda_.begin()->first);
}

void Transactions::finish(std::uint32_t tid, End how) {
    const auto it = outstanding_.find(tid);
    agenda_.erase({it->second.due, tid});
    outstanding_.erase(it);
    recent_[tid % recent_.size()] = {tid, how};
}

void Transactions::count_stray(std::uint32_t tid) {
    const auto [recent, how] = recent_[tid % recent_.size()];
    if (recent != tid || how == End::none) return counters_.rx_dropped_unknown_tid.add();
    if (how == End::answered) return counters_.rx_dropped_duplicate_response.add();
    counters_.rx_dropped_late_response.add();
}

}  // namespace verbline::mad
