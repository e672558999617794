// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "tests/sim/cm_pair.h"

// What can happen next to a pair, by its users and the network; and what happens when everybody behaves.

namespace verbline::sim {

using cm::ConnectionState;
using Said = CmWord::Said;

constexpr int most_steps = 200;  ///< to rest

/// What the user may call must succeed.
template <class Act>
void CmPair::call(unsigned i, std::optional<Said> said, const Act& act) {
    auto& side = sides_[i];
    Doings doings(*this, i);
    expect(act(*side.connection, side.now, doings).has_value(), "a call fails that may be made");
    if (said) side.word.say(*said);
    retire(side);
}

void CmPair::reply(unsigned side) {
    const cm::Reply reply{.qpn = wire::Qpn{0x10 + side + 0x10 * sides_[side].births}};
    call(side, Said::reply, [&](auto& c, Time now, auto& doings) { return c.reply(reply, now, doings); });
}
void CmPair::ready(unsigned side) {
    call(side, Said::ready, [](auto& c, Time now, auto& doings) { return c.ready_to_use({}, now, doings); });
}

bool CmPair::established(unsigned side) const {
    return sides_[side].connection && sides_[side].connection->state() == ConnectionState::established;
}

void CmPair::add_calls(unsigned i, std::vector<CmPair>& out) const {
    const auto& side = sides_[i];
    const auto add = [&](std::optional<Said> said, const auto& act) { out.emplace_back(*this).call(i, said, act); };
    if (setup_->peers && i == 1 && side.births == 0) out.emplace_back(*this).connect(i);
    if (!side.user) return;
    const auto state = side.connection->state();
    if (state != ConnectionState::idle || !side.word.rests()) out.emplace_back(*this).abandon(i);
    if (side.word.must_answer()) {
        add(Said::reject, [](auto& c, Time now, auto& doings) {
            return c.reject({.reason = wire::CmRejectReason::consumer}, now, doings);
        });
        if (side.word.is_requested()) out.emplace_back(*this).reply(i);
        if (!side.word.is_requested()) out.emplace_back(*this).ready(i);
        if (setup_->delays && (state == ConnectionState::req_received || state == ConnectionState::rep_received)) {
            add({}, [](auto& c, Time now, auto& doings) { return c.delay(20, {}, now, doings); });
        }
    }
    // Its traffic comes before its RTU.
    const auto& peer = sides_[1 - i];
    if (side.word.is_replying() && established(1 - i) && peer.connection->remote() == side.connection->local()) {
        add(Said::established, [](auto& c, Time now, auto&) { return c.established(now); });
    }
    if (!side.word.is_established()) return;
    add(Said::disconnect, [](auto& c, Time now, auto& doings) { return c.disconnect({}, now, doings); });
    if (setup_->paths && i == 0 && !side.proposed) {
        auto& next = out.emplace_back(*this);
        next.sides_[i].proposed = true;
        next.call(i, Said::load_alternate,
                  [](auto& c, Time now, auto& doings) { return c.load_alternate({}, {}, now, doings); });
    }
    if (side.proposal) {
        auto& next = out.emplace_back(*this);
        next.sides_[i].proposal = false;
        next.call(i, {}, [](auto& c, Time now, auto& doings) { return c.reply_alternate({}, now, doings); });
    }
}

void CmPair::add_network(unsigned i, std::vector<CmPair>& out) const {
    const auto& way = under_way_[i];
    for (std::size_t at = 0; at < way.size(); ++at) {
        if (at > 0 && way[at] == way[at - 1]) continue;
        out.emplace_back(*this).deliver(i, at, false);
        // Once more of the same changes nothing unless it comes twice; a third time is covered by the second.
        out.emplace_back(*this).deliver(i, at, true);
        auto& lost = out.emplace_back(*this);
        lost.under_way_[i].erase(lost.under_way_[i].begin() + static_cast<std::ptrdiff_t>(at));
        lost.calm_ = false;
    }
    if (sides_[i].connection && sides_[i].connection->deadline()) out.emplace_back(*this).tick(i);
}

std::vector<CmPair> CmPair::successors() const {
    std::vector<CmPair> out;
    out.reserve(24);
    for (const unsigned side : {0u, 1u}) {
        add_calls(side, out);
        add_network(side, out);
    }
    return out;
}

bool CmPair::answer() {
    for (const unsigned i : {0u, 1u}) {
        auto& side = sides_[i];
        if (!side.user) continue;
        if (side.word.is_requested()) return reply(i), true;
        if (side.word.must_answer()) return ready(i), true;
        if (std::exchange(side.proposal, false) && side.word.is_established()) {
            call(i, {}, [](auto& c, Time now, auto& doings) { return c.reply_alternate({}, now, doings); });
            return true;
        }
    }
    return false;
}

bool CmPair::run_network() {
    for (const unsigned i : {0u, 1u}) {
        if (under_way_[i].empty()) continue;
        deliver(i, 0, false);
        return true;
    }
    return false;
}

bool CmPair::run_clock() {
    for (const unsigned i : {0u, 1u}) {
        if (!sides_[i].connection || !sides_[i].connection->deadline()) continue;
        tick(i);
        return true;
    }
    return false;
}

bool CmPair::settle() {
    const bool calm = calm_;
    for (int steps = 0; steps < most_steps && fault_.empty(); ++steps) {
        if (answer() || run_network() || run_clock()) continue;
        if (established(0) != established(1)) {
            // Who is alone finds out when the queue pair fails; after a calm life nobody is.
            expect(!calm, "one side is established alone");
            const unsigned alone = established(0) ? 0 : 1;
            if (!sides_[alone].user) return false;
            call(alone, Said::disconnect,
                 [](auto& c, Time now, auto& doings) { return c.disconnect({}, now, doings); });
            continue;
        }
        for (const auto& side : sides_) {
            if (!side.connection || side.connection->state() == ConnectionState::established) continue;
            expect(side.connection->state() == ConnectionState::idle, "it rests where nobody can rest");
            expect(!side.user || side.word.rests(), "a user waits for ever");
        }
        if (established(0)) {
            const auto &one = *sides_[0].connection, &two = *sides_[1].connection;
            expect(one.remote() == two.local() && two.remote() == one.local() && one.remote_qpn() == two.local_qpn() &&
                       two.remote_qpn() == one.local_qpn(),
                   "both are established, not with each other");
        }
        return fault_.empty();
    }
    expect(false, "it does not come to rest");
    return false;
}

}  // namespace verbline::sim
