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

/// As many as a member may have are known; further ones are not ended in its name.
void Conversations::request(link::MemberId from, LocalId id, const Conversation& conversation) {
    if (counts_[from] >= most_of_member || !open_.emplace(id, conversation).second) return;
    ++counts_[from];
    if (conversation.service != wire::CmServiceId{}) requested_.insert({conversation.service, id});
}

void Conversations::forget(LocalId id) {
    const auto found = open_.find(id);
    if (found == open_.end()) return;
    requested_.erase({found->second.service, id});
    due_.erase({found->second.due, id});
    open_.erase(found);
    --counts_[member_of_id(id)];
}

void Conversations::forget_request(link::MemberId member, std::uint32_t requester_id) {
    counts_[member] -= requests_.erase({member, requester_id});
}

void Conversations::answered(Conversation& conversation, LocalId id) {
    requested_.erase({conversation.service, id});
    conversation.service = {};
}

void Conversations::sent(link::MemberId from, PeerMember to, const cm::ReceivedMessage& message,
                         const GsiHeaders& headers) {
    const auto id = message.sender_id();
    switch (message.attribute()) {
        case CmAttribute::req:
            return request(from, id, {.peer = to, .service = message.as<wire::CmReq>().service, .headers = headers});
        case CmAttribute::rep: {
            const auto found = requests_.find({from, message.receiver_id()});
            if (found == requests_.end()) return;
            const auto qpn = found->second.qpn;
            forget_request(from, message.receiver_id());
            return request(from, id,
                           {.peer = to, .remote_id = message.receiver_id(), .remote_qpn = qpn, .headers = headers});
        }
        case CmAttribute::rej: forget_request(from, message.receiver_id()); return forget(id);
        case CmAttribute::sidr_rep: return forget_request(from, message.receiver_id());
        case CmAttribute::drep: return forget(id);
        default: return;
    }
}

void Conversations::received(link::MemberId to, PeerMember from, const cm::ReceivedMessage& message,
                             const GsiHeaders& back) {
    const auto attribute = message.attribute();
    switch (attribute) {
        case CmAttribute::req:
        case CmAttribute::sidr_req: {
            if (counts_[to] >= most_of_member) return;
            const auto qpn = attribute == CmAttribute::req ? message.as<wire::CmReq>().qpn : wire::Qpn{};
            const Request request{
                .peer = from, .kind = attribute, .qpn = qpn, .transaction = message.transaction(), .back = back};
            if (requests_.insert_or_assign({to, message.sender_id()}, request).second) ++counts_[to];
            return;
        }
        case CmAttribute::rep: {
            const auto found = open_.find(message.receiver_id());
            if (found == open_.end()) return;
            found->second.remote_id = message.sender_id();
            found->second.remote_qpn = message.as<wire::CmRep>().qpn;
            return answered(found->second, found->first);
        }
        case CmAttribute::rej:
        case CmAttribute::drep: return forget(message.receiver_id());
        default: return;
    }
}

void Conversations::received_late(const cm::ReceivedMessage& message) {
    constexpr std::array last{CmAttribute::dreq, CmAttribute::drep, CmAttribute::rej};
    if (std::ranges::find(last, message.attribute()) != last.end()) forget(message.receiver_id());
}

std::vector<Farewell> Conversations::leave(link::MemberId member, Time now) {
    auto all = refuse_requests(member);
    const auto end = open_.upper_bound(last_of(member));
    for (auto each = open_.lower_bound(cm::ids_of(member).base); each != end;) {
        auto& [id, conversation] = *each++;
        if (conversation.remote_id == 0) {
            forget(id);  // its request is not answered: what comes for it is refused
        } else {
            conversation.left = farewells;
            all.push_back(next_farewell(id, conversation, now));
        }
    }
    return all;
}

/// As of a process whose user has declined: its program has ended (IBTA volume 1, 12.6.7.2, 12.11.2.1).
std::vector<Farewell> Conversations::refuse_requests(link::MemberId member) {
    std::vector<Farewell> all;
    for (auto each = requests_.lower_bound({member, 0}); each != requests_.end() && each->first.first == member;) {
        const auto id = each->first.second;
        const auto request = each++->second;
        const wire::CmRej rej{.remote_id = id, .about = wire::CmAbout::req, .reason = wire::CmRejectReason::consumer};
        const wire::CmSidrRep rep{.request_id = id, .status = wire::SidrStatus::rejected};
        all.push_back({request.peer, request.back,
                       request.kind == CmAttribute::req ? cm::make_mad(rej, request.transaction)
                                                        : cm::make_mad(rep, request.transaction)});
        forget_request(member, id);
    }
    return all;
}

Farewell Conversations::next_farewell(LocalId id, Conversation& conversation, Time now) {
    --conversation.left;
    due_.erase({conversation.due, id});
    conversation.due = now + farewell_interval;
    due_.insert({conversation.due, id});
    const wire::CmDreq dreq{.local_id = id, .remote_id = conversation.remote_id, .remote_qpn = conversation.remote_qpn};
    return {conversation.peer, conversation.headers, cm::make_mad(dreq, id)};
}

std::vector<Farewell> Conversations::tick(Time now) {
    std::vector<Farewell> all;
    while (!due_.empty() && due_.begin()->first <= now) {
        const auto id = due_.extract(due_.begin()).value().second;
        auto& conversation = open_.at(id);
        if (conversation.left == 0) {
            forget(id);
        } else {
            all.push_back(next_farewell(id, conversation, now));
        }
    }
    return all;
}

std::optional<Time> Conversations::deadline() const {
    return due_.empty() ? std::nullopt : std::optional(due_.begin()->first);
}

bool Conversations::closing(link::MemberId member) const {
    const auto first = open_.lower_bound(cm::ids_of(member).base);
    return first != open_.end() && first->first <= last_of(member) && first->second.due != 0;
}

std::optional<link::MemberId> Conversations::requester(wire::CmServiceId service) const {
    const auto found = requested_.lower_bound({service, 0});
    if (found == requested_.end() || found->first != service) return std::nullopt;
    return member_of_id(found->second);
}

}  // namespace verbline::node
