// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Messages of the connection manager as MADs: put into one, and taken out.

#include <cstdint>
#include <expected>
#include <span>

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

/// A message that has come, in the MAD's bytes, which it borrows.
class Incoming {
public:
    /// The counter that says why it is none.
    static std::expected<Incoming, Count> parse(mad::MadBytes mad);

    wire::CmAttribute attribute() const { return attribute_; }
    std::uint64_t transaction() const { return transaction_; }
    template <class Message>
    Message as() const {
        return *Message::parse(data_);  // any bytes are one: `data_` has its size
    }
    /// In all messages: the id its sender gave to the conversation. SIDR: the request id.
    std::uint32_t sender_id() const { return wire::load32(data_, 0); }
    /// The receiver's: not in REQ. SIDR_REP: the request id, which is the receiver's.
    std::uint32_t receiver_id() const { return wire::load32(data_, attribute_ == wire::CmAttribute::sidr_rep ? 0 : 4); }

private:
    Incoming(const wire::Mad& header, mad::MadBytes mad);

    wire::CmAttribute attribute_;
    std::uint64_t transaction_;
    std::span<const std::byte, wire::cm_message_size> data_;
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
