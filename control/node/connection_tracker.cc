// SPDX-License-Identifier: BSD-3-Clause
#include "control/node/connection_tracker.h"

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
void ConnectionTracker::request(link::MemberId from, LocalId id, const Connection& connection) {
    if (counts_[from] >= most_of_member || !open_.emplace(id, connection).second) return;
    ++counts_[from];
    if (connection.service != wire::CmServiceId{}) requested_.insert({connection.service, id});
}

void ConnectionTracker::forget(LocalId id) {
    const auto found = open_.find(id);
    if (found == open_.end()) return;
    requested_.erase({found->second.service, id});
    due_.erase({found->second.due, id});
    open_.erase(found);
    --counts_[member_of_id(id)];
}

void ConnectionTracker::add_request(link::MemberId member, std::uint32_t requester_id, Request request) {
    forget_request(member, requester_id);  // it has come again
    auto& order = request_order_[member];
    if (order.size() >= most_requests) forget_request(member, order.begin()->second);
    request.number = ++last_request_;
    order.emplace(request.number, requester_id);
    requests_.emplace(RequestKey{member, requester_id}, request);
}

void ConnectionTracker::forget_request(link::MemberId member, std::uint32_t requester_id) {
    const auto found = requests_.find({member, requester_id});
    if (found == requests_.end()) return;
    request_order_[member].erase(found->second.number);
    requests_.erase(found);
}

void ConnectionTracker::answered(Connection& connection, LocalId id) {
    requested_.erase({connection.service, id});
    connection.service = {};
}

void ConnectionTracker::sent(link::MemberId from, PeerMember to, const cm::ReceivedMessage& message,
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

void ConnectionTracker::received(link::MemberId to, PeerMember from, const cm::ReceivedMessage& message,
                                 const GsiHeaders& back) {
    const auto attribute = message.attribute();
    switch (attribute) {
        case CmAttribute::req:
        case CmAttribute::sidr_req: {
            const auto qpn = attribute == CmAttribute::req ? message.as<wire::CmReq>().qpn : wire::Qpn{};
            return add_request(
                to, message.sender_id(),
                {.peer = from, .kind = attribute, .qpn = qpn, .transaction = message.transaction(), .back = back});
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

void ConnectionTracker::received_late(const cm::ReceivedMessage& message) {
    constexpr std::array last{CmAttribute::dreq, CmAttribute::drep, CmAttribute::rej};
    if (std::ranges::find(last, message.attribute()) != last.end()) forget(message.receiver_id());
}

std::vector<Teardown> ConnectionTracker::leave(link::MemberId member, Time now) {
    auto all = refuse_requests(member);
    const auto end = open_.upper_bound(last_of(member));
    for (auto each = open_.lower_bound(cm::ids_of(member).base); each != end;) {
        auto& [id, connection] = *each++;
        if (connection.remote_id == 0) {
            forget(id);  // its request is not answered: what comes for it is refused
        } else {
            connection.left = teardown_attempts;
            all.push_back(next_teardown(id, connection, now));
        }
    }
    return all;
}

/// As of a process whose user has declined: its program has ended (IBTA volume 1, 12.6.7.2, 12.11.2.1).
std::vector<Teardown> ConnectionTracker::refuse_requests(link::MemberId member) {
    std::vector<Teardown> all;
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

Teardown ConnectionTracker::next_teardown(LocalId id, Connection& connection, Time now) {
    --connection.left;
    due_.erase({connection.due, id});
    connection.due = now + teardown_interval;
    due_.insert({connection.due, id});
    const wire::CmDreq dreq{.local_id = id, .remote_id = connection.remote_id, .remote_qpn = connection.remote_qpn};
    return {connection.peer, connection.headers, cm::make_mad(dreq, id)};
}

std::vector<Teardown> ConnectionTracker::tick(Time now) {
    std::vector<Teardown> all;
    while (!due_.empty() && due_.begin()->first <= now) {
        const auto id = due_.extract(due_.begin()).value().second;
        auto& connection = open_.at(id);
        if (connection.left == 0) {
            forget(id);
        } else {
            all.push_back(next_teardown(id, connection, now));
        }
    }
    return all;
}

std::optional<Time> ConnectionTracker::deadline() const {
    return due_.empty() ? std::nullopt : std::optional(due_.begin()->first);
}

bool ConnectionTracker::closing(link::MemberId member) const {
    const auto first = open_.lower_bound(cm::ids_of(member).base);
    return first != open_.end() && first->first <= last_of(member) && first->second.due != 0;
}

std::optional<link::MemberId> ConnectionTracker::requester(wire::CmServiceId service) const {
    const auto found = requested_.lower_bound({service, 0});
    if (found == requested_.end() || found->first != service) return std::nullopt;
    return member_of_id(found->second);
}

}  // namespace verbline::node
