// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <optional>

#include "control/cm/manager.h"

// Processing of bursts, dispatch of messages, and answers to those of unknown connections.
//
// With many endpoints a MAD misses the cache on its table entry and on the session: some hundred nanoseconds each.
// Prefetching for the whole burst overlaps these misses.

namespace verbline::cm {

namespace {

constexpr std::size_t at_once = 32;  // as many as the CPU can wait for, and a first-level cache holds

}  // namespace

template <class Message>
void Manager::answer(const mad::GmpPeer& to, const ReceivedMessage& to_what, const Message& message) {
    count(sent(attribute_of<Message>), to_what.sender_id());
    send(to, make_mad(message, to_what.transaction()));
}

template void Manager::answer(const mad::GmpPeer&, const ReceivedMessage&, const wire::CmSidrRep&);

void Manager::refuse(const mad::GmpPeer& to, const ReceivedMessage& message, const Rejection& rejection,
                     wire::CmAbout about) {
    auto rej = to_message(rejection, about);
    rej.local_id = about == wire::CmAbout::req ? 0 : message.receiver_id();
    rej.remote_id = message.sender_id();
    answer(to, message, rej);
}

Manager::Looked::Looked(const Manager& manager, const mad::GmpArrival& arrival)
    : message(ReceivedMessage::parse(arrival.header, arrival.mad)),
      sought(message ? manager.by_remote_end(*message, arrival.from) : Sought{}) {}

void Manager::receive(std::span<const mad::GmpArrival> burst, Time now) {
    saw(now);
    if (burst.size() == 1) return receive_one(burst.front(), {*this, burst.front()}, now);
    while (!burst.empty()) {
        const auto some = burst.first(std::min(burst.size(), at_once));
        burst = burst.subspan(some.size());
        std::array<std::optional<Looked>, at_once> looked;
        for (std::size_t i = 0; i < some.size(); ++i) looked.at(i).emplace(*this, some[i]);
        prefetch(std::span(looked).first(some.size()));
        for (std::size_t i = 0; i < some.size(); ++i) receive_one(some[i], *looked.at(i), now);
    }
}

/// A lookup by id prefetches the id's slot, then the session; one by remote end prefetches that entry first.
void Manager::prefetch(std::span<const std::optional<Looked>> burst) const {
    std::array<std::uint32_t, at_once> ids{};
    for (std::size_t i = 0; i < burst.size(); ++i) {
        const auto& [message, sought] = *burst[i];
        if (sought.table != nullptr) {
            sought.table->prefetch(sought.end);
        } else if (message) {
            sessions_.prefetch(ids[i] = message->receiver_id());
        }
    }
    for (std::size_t i = 0; i < burst.size(); ++i) {
        const auto& [table, end] = burst[i]->sought;
        if (table != nullptr) sessions_.prefetch(ids[i] = table->find(end));
    }
    for (const auto id : std::span(ids).first(burst.size())) sessions_.prefetch_value(id, Session::prefetch);
}

void Manager::receive_one(const mad::GmpArrival& arrival, const Looked& looked, Time now) {
    const auto& from = arrival.from;
    const auto& [message, sought] = looked;
    if (!message) {
        count(message.error(), 0);
        if (message.error() == Count::rx_dropped_class_version) receive_version(arrival);
        return;
    }
    count(received(message->attribute()), message->sender_id());
    if (message->attribute() == wire::CmAttribute::req) return receive_req(*message, sought, from, now);
    if (message->attribute() == wire::CmAttribute::sidr_req) return receive_sidr_req(*message, sought, from, now);
    // A listener's id names no connection.
    const auto session = sought.table != nullptr ? find(sought) : sessions_.find(message->receiver_id());
    if (session && !session->listens()) return session->push(from, *message, now);
    receive_unknown(*message, from);
}

/// Answers a request of another class version, of which only the id's place is known: rejects it with the version that
/// we support (12.6.7.2 reason 31, 12.11.2.1 status 5).
void Manager::receive_version(const mad::GmpArrival& arrival) {
    const auto& [from, header, mad] = arrival;
    const auto id = wire::load32(mad, mad.size() - wire::cm_message_size);
    if (header.attribute == static_cast<std::uint16_t>(wire::CmAttribute::req)) {
        count(Count::rejected_class_version, id);
        count(Count::tx_rej, id);
        send(from, make_mad(wire::CmRej{.remote_id = id,
                                        .about = wire::CmAbout::req,
                                        .information_length = 1,
                                        .reason = wire::CmRejectReason::class_version,
                                        .information = {std::byte{wire::cm_class_version}}},
                            header.transaction));
    } else if (header.attribute == static_cast<std::uint16_t>(wire::CmAttribute::sidr_req)) {
        count(Count::rejected_class_version, id);
        count(Count::tx_sidr_rep, id);
        send(from, make_mad(wire::CmSidrRep{.request_id = id, .status = wire::SidrStatus::unsupported_version},
                            header.transaction));
    }
}

Manager::Sought Manager::by_remote_end(const ReceivedMessage& message, const mad::GmpPeer& from) const {
    switch (message.attribute()) {
        case wire::CmAttribute::req: {
            const auto& req = message.as<wire::CmReq>();
            return {&connections_, RemoteEnd::connection(req.ca_guid, req.local_id)};
        }
        case wire::CmAttribute::sidr_req: {
            const auto& address = from.path.address;
            return {&datagram_requests_, RemoteEnd::datagram_request(address.dgid, address.dlid, message.sender_id())};
        }
        case wire::CmAttribute::rej: {
            // A peer whose REQ timed out before it learned our id names the connection by its own id and GUID
            // (12.6.7.2).
            const auto& rej = message.as<wire::CmRej>();
            if (rej.remote_id != 0 || rej.reason != wire::CmRejectReason::timeout ||
                rej.information_length < sizeof(wire::Guid)) {
                return {};
            }
            const wire::Guid ca{wire::load64(rej.information, 0)};
            return {&connections_, RemoteEnd::connection(ca, rej.local_id)};
        }
        default: return {};
    }
}

void Manager::receive_req(const ReceivedMessage& message, const Sought& known, const mad::GmpPeer& from, Time now) {
    if (const auto session = find(known); session && session->takes(message)) {
        return session->push(from, message, now);
    }
    if (!to_listener(message, from, now)) receive_unserved(message, from, now);
}

void Manager::receive_sidr_req(const ReceivedMessage& message, const Sought& known, const mad::GmpPeer& from,
                               Time now) {
    if (const auto session = find(known)) return session->push(from, message, now);
    if (!to_listener(message, from, now)) receive_unserved(message, from, now);
}

/// Or to an endpoint that connects to the same service of the sender's. False: there is none.
bool Manager::to_listener(const ReceivedMessage& request, const mad::GmpPeer& from, Time now) {
    std::uint32_t id = 0;
    if (request.attribute() == wire::CmAttribute::req)
        id = peers_.find(RemoteEnd::peer(request.service(), request.as<wire::CmReq>().primary.local_gid));
    const auto session = sessions_.find(id != 0 ? id : listeners_.find(request.service()));
    if (session) session->push(from, request, now);
    return static_cast<bool>(session);
}

void Manager::receive_unserved(const ReceivedMessage& request, const mad::GmpPeer& from, Time now) {
    const auto service = request.service();
    if (options_.elsewhere && options_.elsewhere(service))
        return count(Count::rx_dropped_elsewhere, request.sender_id());
    if (options_.bound && options_.bound(service) && early_.keep(from, request, now))
        return count(Count::rx_early, request.sender_id());
    refuse_unserved(request, from);
}

void Manager::refuse_unserved(const ReceivedMessage& request, const mad::GmpPeer& from) {
    count(Count::rejected_unknown_service, request.sender_id());
    if (request.attribute() == wire::CmAttribute::req)
        return refuse(from, request, {.reason = wire::CmRejectReason::invalid_service_id}, wire::CmAbout::req);
    answer(from, request,
           wire::CmSidrRep{.request_id = request.sender_id(),
                           .status = wire::SidrStatus::unsupported_service,
                           .service = request.service()});
}

/// Answers messages of unknown connections where that lets the peer close its end; never with shared addresses, since
/// the connection may be another program's.
void Manager::receive_unknown(const ReceivedMessage& message, const mad::GmpPeer& from) {
    const auto ours = message.receiver_id(), theirs = message.sender_id();
    if (options_.shared) return count(Count::rx_dropped_unknown_id, theirs);
    switch (message.attribute()) {
        case wire::CmAttribute::rep:
            count(Count::rejected_unknown_id, theirs);
            return refuse(from, message, {.reason = wire::CmRejectReason::invalid_communication_id},
                          wire::CmAbout::rep);
        case wire::CmAttribute::dreq:
            count(Count::rx_dropped_unknown_id, theirs);
            return answer(from, message, wire::CmDrep{.local_id = ours, .remote_id = theirs});
        case wire::CmAttribute::lap:
            count(Count::rejected_unknown_id, theirs);
            return answer(
                from, message,
                wire::CmApr{
                    .local_id = ours, .remote_id = theirs, .status = wire::AprStatus::invalid_communication_id});
        default: return count(Count::rx_dropped_unknown_id, theirs);
    }
}

}  // namespace verbline::cm
