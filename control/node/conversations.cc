// SPDX-License-Identifier: BSD-3-Clause
#include "control/node/conversations.h"

#include <algorithm>
#include <array>

namespace verbline::node {

using cm::member_of_id, wire::CmAttribute;

namespace {

constexpr std::uint32_t last_of(link::MemberId member) {
    return cm::ids_of(member).base + ((1u << cm::member_id_bits) - 1);
}

}  // namespace

bool Conversations::has_room(link::MemberId member) const {
    const auto first = open_.lower_bound(cm::ids_of(member).base);
    const auto last = open_.upper_bound(last_of(member));
    return static_cast<std::size_t>(std::distance(first, last)) < most_of_member;
}

void Conversations::sent(link::MemberId from, PeerMember to, const cm::ReceivedMessage& message,
                         const GsiHeaders& headers) {
    const auto id = message.sender_id();
    switch (message.attribute()) {
        case CmAttribute::req:
            if (open_.contains(id) || !has_room(from)) return;
            open_[id] = {.peer = to, .service = message.as<wire::CmReq>().service, .headers = headers};
            return;
        case CmAttribute::rep: {
            const auto request = requests_.extract({from, message.receiver_id()});
            if (!request || !has_room(from)) return;
            open_[id] = {
                .peer = to, .remote_id = message.receiver_id(), .remote_qpn = request.mapped().qpn, .headers = headers};
            return;
        }
        case CmAttribute::rej: requests_.erase({from, message.receiver_id()}); return forget(id);
        case CmAttribute::drep: return forget(id);
        default: return;
    }
}

void Conversations::received(link::MemberId to, PeerMember from, const cm::ReceivedMessage& message,
                             const GsiHeaders& back) {
    const auto found = open_.find(message.receiver_id());
    switch (message.attribute()) {
        case CmAttribute::req: {
            const auto& req = message.as<wire::CmReq>();
            const auto first = requests_.lower_bound({to, 0}), last = requests_.upper_bound({to, UINT32_MAX});
            if (static_cast<std::size_t>(std::distance(first, last)) >= most_of_member) return;
            requests_[{to, req.local_id}] = {
                .peer = from, .qpn = req.qpn, .transaction = message.transaction(), .back = back};
            return;
        }
        case CmAttribute::rep:
            if (found == open_.end()) return;
            found->second.remote_id = message.sender_id();
            found->second.remote_qpn = message.as<wire::CmRep>().qpn;
            found->second.service = {};
            return;
        case CmAttribute::rej:
        case CmAttribute::drep: return forget(message.receiver_id());
        default: return;
    }
}

void Conversations::received_late(const cm::ReceivedMessage& message) {
    constexpr std::array last{CmAttribute::dreq, CmAttribute::drep, CmAttribute::rej};
    const bool over = std::ranges::find(last, message.attribute()) != last.end();
    const auto found = open_.find(message.receiver_id());
    if (!over || found == open_.end() || found->second.left == 0) return;
    due_.erase({found->second.due, found->first});
    open_.erase(found);
}

std::vector<Farewell> Conversations::leave(link::MemberId member, Time now) {
    std::vector<Farewell> all;
    const auto end = open_.upper_bound(last_of(member));
    for (auto each = open_.lower_bound(cm::ids_of(member).base); each != end;) {
        auto& [id, conversation] = *each;
        if (conversation.remote_id == 0) {  // its request is not answered: what comes for it is refused
            each = open_.erase(each);
            continue;
        }
        conversation.left = farewells;
        all.push_back(next_farewell(id, conversation, now));
        ++each;
    }
    for (auto each = requests_.lower_bound({member, 0}); each != requests_.end() && each->first.first == member;) {
        const auto& [key, request] = *each;
        // As of a process whose user has declined: its program has ended (IBTA volume 1, 12.6.7.2).
        const wire::CmRej rej{
            .remote_id = key.second, .about = wire::CmAbout::req, .reason = wire::CmRejectReason::consumer};
        all.push_back({request.peer, request.back, cm::make_mad(rej, request.transaction)});
        each = requests_.erase(each);
    }
    return all;
}

Farewell Conversations::next_farewell(LocalId id, Conversation& conversation, Time now) {
    --conversation.left;
    conversation.due = now + farewell_interval;
    due_.insert({conversation.due, id});
    const wire::CmDreq dreq{.local_id = id, .remote_id = conversation.remote_id, .remote_qpn = conversation.remote_qpn};
    return {conversation.peer, conversation.headers, cm::make_mad(dreq, id)};
}

std::vector<Farewell> Conversations::tick(Time now) {
    std::vector<Farewell> all;
    while (!due_.empty() && due_.begin()->first <= now) {
        const auto id = due_.extract(due_.begin()).value().second;
        const auto found = open_.find(id);
        if (found == open_.end()) continue;
        if (found->second.left == 0) {
            open_.erase(found);
        } else {
            all.push_back(next_farewell(id, found->second, now));
        }
    }
    return all;
}

std::optional<Time> Conversations::deadline() const {
    return due_.empty() ? std::nullopt : std::optional(due_.begin()->first);
}

bool Conversations::closing(link::MemberId member) const {
    return std::ranges::any_of(due_, [member](const auto& entry) { return member_of_id(entry.second) == member; });
}

std::optional<link::MemberId> Conversations::requester(wire::CmServiceId service) const {
    const auto found =
        std::ranges::find_if(open_, [service](const auto& entry) { return entry.second.service == service; });
    return found == open_.end() ? std::nullopt : std::optional(member_of_id(found->first));
}

}  // namespace verbline::node
