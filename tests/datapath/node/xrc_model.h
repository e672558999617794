// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A shared XRC target among a peer and members that keep the rules, on ways that lose and repeat what they like:
///
///     peer: sends in order, goes back on a NAK or by its timer ── requests ──> XrcRelay ──> legs: in order, each of
///     its own
///
/// What is promised: requests are executed once and in the order of the connection, whichever member they are for, and
/// the peer is never told of one that has not been. `promise` is called with each of these; false is a fault.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "datapath/node/xrc_relay.h"

namespace verbline::test {

class XrcModel {
public:
    using Promise = std::function<void(bool kept, const char* what)>;

    /// One request for each of `members`, of which there are three; `psns`: how many each takes.
    XrcModel(wire::Psn first, std::vector<unsigned> members, std::vector<std::uint32_t> psns, Promise promise)
        : relay_(first), promise_(std::move(promise)) {
        auto psn = first;
        for (std::size_t i = 0; i < members.size(); ++i) {
            requests_.push_back({.psn = psn,
                                 .psns = psns[i],
                                 .shared_queue = link::first_qpn(member_of(members[i])) + 1,
                                 .repeatable = psns[i] > 1});
            psn = psn + psns[i];
        }
        end_ = psn;
        for (unsigned leg = 0; leg < legs; ++leg) {
            relay_.join(member_of(leg), true);
            legs_[leg].expected = first;
        }
    }

    // One step each; false: there is nothing to do.

    bool send(bool lost) {
        if (next_ == requests_.size()) return false;
        const auto index = next_++;
        if (!lost) act(relay_.receive(requests_[index]), index, true);
        return true;
    }
    void go_back() { next_ = told_; }
    bool deliver_request(unsigned leg, bool lost) {
        auto& way = legs_[leg].requests;
        if (way.empty()) return false;
        const auto [psn, index] = way.front();
        way.pop_front();
        if (!lost) execute(leg, psn, index);
        return true;
    }
    bool refuse_request(unsigned leg) {
        auto& way = legs_[leg].requests;
        if (way.empty() || way.front().first - legs_[leg].expected != 0) return false;
        respond(leg, legs_[leg].expected, {.kind = wire::AethKind::rnr_nak, .value = 12, .msn = legs_[leg].msn});
        way.pop_front();
        return true;
    }
    bool deliver_answer(unsigned leg, bool lost) {
        auto& way = legs_[leg].answers;
        if (way.empty()) return false;
        const auto answer = way.front();
        way.pop_front();
        if (lost) return true;
        if (const auto relayed = relay_.answer(member_of(leg), answer)) hear(relayed->psn, *answer.aeth);
        while (!held_.empty()) {
            const auto decision = relay_.release(requests_[held_.front()]);
            if (decision.verdict == node::XrcRelay::Verdict::hold) break;
            const auto index = held_.front();
            held_.pop_front();
            act(decision, index, false);
        }
        return true;
    }
    /// Nothing is lost any more, and the peer's timer fires when nothing moves: all must be executed and told of.
    void finish() {
        for (std::size_t round = 0; told_ < requests_.size(); ++round) {
            promise_(round < 100 * requests_.size() + 100, "an end");
            if (round >= 100 * requests_.size() + 100) return;
            bool moved = send(false);
            for (unsigned leg = 0; leg < legs; ++leg) moved = deliver_request(leg, false) || moved;
            for (unsigned leg = 0; leg < legs; ++leg) moved = deliver_answer(leg, false) || moved;
            if (!moved) go_back();
        }
        promise_(executed_ == requests_.size(), "all are executed");
    }

    static constexpr unsigned legs = 3;

private:
    struct Leg {
        wire::Psn expected;
        std::uint32_t msn = 0;
        std::deque<std::pair<wire::Psn, std::size_t>> requests;
        std::deque<node::XrcResponse> answers;
    };

    static link::MemberId member_of(unsigned leg) { return link::MemberId{static_cast<std::uint16_t>(5 + leg)}; }

    void act(const node::XrcRelay::Decision& decision, std::size_t index, bool arrives) {
        using enum node::XrcRelay::Verdict;
        if (decision.verdict == pass) {
            const auto leg = std::to_underlying(decision.member) - 5u;
            legs_[leg].requests.emplace_back(decision.psn, index);
        } else if (decision.verdict == hold) {
            promise_(arrives, "what is released is not held");
            held_.push_back(index);
        } else if (decision.verdict == answer) {
            hear(decision.psn, decision.aeth);
        }
    }
    void execute(unsigned leg, wire::Psn psn, std::size_t index) {
        auto& own = legs_[leg];
        const auto distance = psn - own.expected;
        if (distance > 0) {
            return respond(leg, own.expected, {.kind = wire::AethKind::nak, .value = 0, .msn = own.msn});
        }
        if (distance == 0) {
            promise_(index == executed_, "in the order of the connection, and once");
            ++executed_;
            own.expected = own.expected + requests_[index].psns;
            own.msn = (own.msn + 1) & 0xff'ffff;
        }
        // A READ's last response, or an ACK; of a duplicate, what is newest.
        const bool read = requests_[index].repeatable;
        const auto last = read ? psn + (requests_[index].psns - 1) : own.expected + 0xff'ffff;
        respond(leg, last, {.value = wire::credits_invalid, .msn = own.msn});
    }
    void respond(unsigned leg, wire::Psn psn, const wire::Aeth& aeth) {
        legs_[leg].answers.push_back({.psn = psn, .aeth = aeth});
    }
    /// The peer gets an answer: all before its PSN, or through it, has been executed.
    void hear(wire::Psn psn, const wire::Aeth& aeth) {
        const auto told = aeth.kind == wire::AethKind::ack ? psn + 1 : psn;
        promise_(end_ - told >= 0, "nothing that was not asked");
        while (told_ < requests_.size() && told - (requests_[told_].psn + requests_[told_].psns) >= 0) ++told_;
        promise_(told_ <= executed_, "nothing is acknowledged that was not executed");
        if (aeth.kind != wire::AethKind::ack) next_ = told_;
        next_ = std::max(next_, told_);
    }

    node::XrcRelay relay_;
    Promise promise_;
    std::vector<node::XrcRequest> requests_;
    wire::Psn end_;
    std::array<Leg, legs> legs_;
    std::deque<std::size_t> held_;
    std::size_t next_ = 0, told_ = 0, executed_ = 0;
};

}  // namespace verbline::test
