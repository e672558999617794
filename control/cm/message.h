// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Messages of the connection manager as MADs: put into one, and taken out.

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

/// A message that has come: read out of its MAD once, where that comes in. What waits for its endpoint, and what that
/// is given, is what the message says, not its bytes.
class Incoming {
public:
    /// The counter that says why it is none.
    static std::expected<Incoming, Count> parse(mad::MadBytes mad);

    wire::CmAttribute attribute() const { return attribute_; }
    std::uint64_t transaction() const { return transaction_; }
    /// What it says, which is of this kind: that of its attribute.
    template <class Message>
    const Message& as() const& {
        return std::get<Message>(content_);
    }
    template <class Message>
    Message as() const&& {
        return std::get<Message>(content_);
    }
    /// In all messages: the id its sender gave to the conversation. SIDR: the request id.
    std::uint32_t sender_id() const { return sender_id_; }
    /// The receiver's: not in REQ. SIDR_REP: the request id, which is the receiver's.
    std::uint32_t receiver_id() const { return receiver_id_; }

private:
    using Content = std::variant<wire::CmReq, wire::CmMra, wire::CmRej, wire::CmRep, wire::CmRtu, wire::CmDreq,
                                 wire::CmDrep, wire::CmSidrReq, wire::CmSidrRep, wire::CmLap, wire::CmApr>;
    using Data = std::span<const std::byte, wire::cm_message_size>;

    Incoming(wire::CmAttribute attribute, std::uint64_t transaction, Data data);
    static Content content_of(wire::CmAttribute attribute, Data data);

    wire::CmAttribute attribute_;
    std::uint32_t sender_id_, receiver_id_;
    std::uint64_t transaction_;
    Content content_;
};

/// The header of an outgoing one.
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
