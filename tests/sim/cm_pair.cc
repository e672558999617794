// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/cm_pair.h"

#include <algorithm>

#include <fmt/format.h>

namespace verbline::sim {

using cm::Connection, cm::ConnectionState;
using Kind = CmWord::Kind;

constexpr std::size_t most_under_way = 2;

CmPair::CmPair(const CmPairSetup& setup, Mads& mads) : setup_(&setup), mads_(&mads) {
    connect(0);
}

CmPair::CmPair(const CmPair& from)
    : setup_(from.setup_), mads_(from.mads_), under_way_(from.under_way_), calm_(from.calm_), fault_(from.fault_) {
    for (unsigned i = 0; i < 2; ++i) {
        auto& side = sides_[i];
        const auto& old = from.sides_[i];
        if (old.connection)
            cm::ConnectionExplorer::copy(*old.connection, side.connection.emplace(cm::CommunicationId{}, wire::Guid{}));
        side.word = old.word, side.user = old.user, side.proposed = old.proposed, side.proposal = old.proposal,
        side.births = old.births;
        side.now = old.now;
    }
}

void CmPair::expect(bool promise, const char* what) {
    if (!promise && fault_.empty()) fault_ = what;
}

void CmPair::put(unsigned from, const mad::MadBuffer& mad) {
    auto& way = under_way_[1 - from];
    const Flight flight = &*mads_->try_emplace(mad, mads_->size()).first;
    if (way.size() == most_under_way) {
        // The network is full. Which one goes does not matter, as each may go at any time.
        way.erase(way.begin());
        calm_ = false;
    }
    const auto number = [](Flight one) { return one->second; };
    way.insert(std::ranges::lower_bound(way, flight->second, {}, number), flight);
}

void CmPair::hear(unsigned side, const cm::EndpointEvent& event) {
    if (!sides_[side].user) return;
    const auto wrong = sides_[side].word.hear(event);
    if (std::holds_alternative<cm::AlternateRequested>(event)) sides_[side].proposal = true;
    if (!wrong.empty() && fault_.empty()) fault_ = fmt::format("side {} hears {}: {}", side, name(event), wrong);
}

cm::Request CmPair::request(unsigned side) const {
    cm::Request request{.service = wire::CmServiceId{0x100},
                        .qpn = wire::Qpn{0x10 + side},
                        .psn = wire::Psn(side),
                        .max_cm_retries = setup_->retries,
                        .peer_to_peer = setup_->peers};
    request.primary.local_gid = gid_of(side);
    request.primary.remote_gid = gid_of(1 - side);
    return request;
}

void CmPair::connect(unsigned i) {
    auto& side = sides_[i];
    side.connection.emplace(cm::CommunicationId{0x100 * (i + 1)}, wire::Guid{i + 1});
    side.user = true;
    side.word = CmWord(setup_->peers ? Kind::peer : Kind::active);
    ++side.births;
    Doings doings(*this, i);
    side.connection->connect(request(i), side.now, doings);
}

void CmPair::deliver(unsigned side, std::size_t at, bool again) {
    auto& way = under_way_[side];
    const auto flight = way[at];
    if (!again) way.erase(way.begin() + static_cast<std::ptrdiff_t>(at));
    receive(side, flight->first);
}

void CmPair::tick(unsigned i) {
    auto& side = sides_[i];
    if (!under_way_[0].empty() || !under_way_[1].empty()) calm_ = false;
    side.now = std::max(side.now, *side.connection->deadline());
    Doings doings(*this, i);
    side.connection->tick(side.now, doings);
    retire(side);
}

void CmPair::abandon(unsigned i) {
    auto& side = sides_[i];
    side.user = false;
    side.word.say(CmWord::Said::reject);
    Doings doings(*this, i);
    side.connection->abandon(side.now, doings);
    retire(side);
}

void CmPair::retire(Side& side) {
    if (!side.user && side.connection && side.connection->state() == ConnectionState::idle) side.connection.reset();
}

std::uint64_t CmPair::key() const {
    std::uint64_t hash = calm_;
    for (unsigned i = 0; i < 2; ++i) {
        const auto& side = sides_[i];
        hash = cm::mix(hash, side.connection ? cm::ConnectionExplorer::digest(*side.connection) : 1);
        hash = cm::mix(
            hash, side.word.number() << 8 | side.births << 3 | side.proposal << 2 | side.user << 1 | side.proposed);
        for (const auto flight : under_way_[i]) hash = cm::mix(hash, flight->second);
        hash = cm::mix(hash, under_way_[i].size());
    }
    return hash;
}

std::string CmPair::describe() const {
    std::string text;
    for (unsigned i = 0; i < 2; ++i) {
        const auto& side = sides_[i];
        text +=
            fmt::format("side {}: {}{}", i,
                        side.connection ? fmt::format("state {}", static_cast<int>(side.connection->state())) : "none",
                        side.user ? "" : " without user");
        for (const auto flight : under_way_[i]) {
            const auto& mad = flight->first;
            text += fmt::format(", gets {:x} {:x}->{:x}", static_cast<int>(cm::attribute(mad)),
                                cm::ReceivedMessage::parse(mad)->sender_id(),
                                cm::ReceivedMessage::parse(mad)->receiver_id());
        }
        text += "; ";
    }
    return text + (calm_ ? "calm" : "");
}

}  // namespace verbline::sim
