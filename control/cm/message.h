// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Encoding and decoding of connection manager messages as MADs.

#include <cstdint>
#include <expected>
#include <span>
#include <variant>

#include "control/cm/counters.h"
#include "control/mad/transport.h"
#include "datapath/wire/cm.h"
#include "datapath/wire/cm_apr.h"
#include "datapath/wire/cm_drep.h"
#include "datapath/wire/cm_dreq.h"
#include "datapath/wire/cm_lap.h"
#include "datapath/wire/cm_mra.h"
#include "datapath/wire/cm_rej.h"
#include "datapath/wire/cm_rep.h"
#include "datapath/wire/cm_req.h"
#include "datapath/wire/cm_rtu.h"
#include "datapath/wire/cm_sidr_rep.h"
#include "datapath/wire/cm_sidr_req.h"
#include "datapath/wire/mad.h"

namespace verbline::cm {

template <class Message>
constexpr wire::CmAttribute attribute_of = wire::CmAttribute{};
template <>
inline constexpr auto attribute_of<wire::CmReq> = wire::CmAttribute::req;
template <>
inline constexpr auto attribute_of<wire::CmMra> = wire::CmAttribute::mra;
template <>
inline constexpr auto attribute_of<wire::CmRej> = wire::CmAttribute::rej;
template <>
inline constexpr auto attribute_of<wire::CmRep> = wire::CmAttribute::rep;
template <>
inline constexpr auto attribute_of<wire::CmRtu> = wire::CmAttribute::rtu;
template <>
inline constexpr auto attribute_of<wire::CmDreq> = wire::CmAttribute::dreq;
template <>
inline constexpr auto attribute_of<wire::CmDrep> = wire::CmAttribute::drep;
template <>
inline constexpr auto attribute_of<wire::CmSidrReq> = wire::CmAttribute::sidr_req;
template <>
inline constexpr auto attribute_of<wire::CmSidrRep> = wire::CmAttribute::sidr_rep;
template <>
inline constexpr auto attribute_of<wire::CmLap> = wire::CmAttribute::lap;
template <>
inline constexpr auto attribute_of<wire::CmApr> = wire::CmAttribute::apr;

/// A received message, decoded from its MAD once on arrival; inboxes and state machines use the decoded message.
class ReceivedMessage {
public:
    /// `header`: of `mad`. On failure returns the drop counter.
    static std::expected<ReceivedMessage, Count> parse(const wire::Mad& header, mad::MadBytes mad);
    static std::expected<ReceivedMessage, Count> parse(mad::MadBytes mad);

    wire::CmAttribute attribute() const { return attribute_; }
    std::uint64_t transaction() const { return transaction_; }
    /// The content. `Message` must be the type of the attribute.
    template <class Message>
    const Message& as() const& {
        return std::get<Message>(content_);
    }
    template <class Message>
    Message as() const&& {
        return std::get<Message>(content_);
    }
    bool is_request() const {
        return attribute_ == wire::CmAttribute::req || attribute_ == wire::CmAttribute::sidr_req;
    }
    /// The service id of a request.
    wire::CmServiceId service() const {
        return attribute_ == wire::CmAttribute::req ? as<wire::CmReq>().service : as<wire::CmSidrReq>().service;
    }
    /// The sender's communication id, present in all messages. SIDR: the request id.
    std::uint32_t sender_id() const { return sender_id_; }
    /// The receiver's communication id; absent in REQ. SIDR_REP: the request id, which the receiver allocated.
    std::uint32_t receiver_id() const { return receiver_id_; }

private:
    using Content = std::variant<wire::CmReq, wire::CmMra, wire::CmRej, wire::CmRep, wire::CmRtu, wire::CmDreq,
                                 wire::CmDrep, wire::CmSidrReq, wire::CmSidrRep, wire::CmLap, wire::CmApr>;
    using Data = std::span<const std::byte, wire::cm_message_size>;

    ReceivedMessage(wire::CmAttribute attribute, std::uint64_t transaction, Data data);
    static Content content_of(wire::CmAttribute attribute, Data data);

    wire::CmAttribute attribute_;
    std::uint32_t sender_id_, receiver_id_;
    std::uint64_t transaction_;
    Content content_;
};

/// Writes the MAD header of an outgoing message.
void write_header(wire::CmAttribute attribute, std::uint64_t transaction, mad::MadBuffer& mad);

template <class Message>
mad::MadBuffer make_mad(const Message& message, std::uint64_t transaction) {
    mad::MadBuffer mad{};
    write_header(attribute_of<Message>, transaction, mad);
    message.emit(std::span(mad).template last<Message::size>());
    return mad;
}

inline wire::CmAttribute attribute(mad::MadBytes mad) {
    return static_cast<wire::CmAttribute>(wire::load16(mad, 16));
}

}  // namespace verbline::cm
