// SPDX-License-Identifier: BSD-3-Clause
#include "control/cm/message.h"

namespace verbline::cm {

std::expected<ReceivedMessage, Count> ReceivedMessage::parse(mad::MadBytes mad) {
    const auto header = wire::Mad::parse(mad);
    return header ? parse(*header, mad) : std::unexpected(Count::rx_dropped_malformed);
}

std::expected<ReceivedMessage, Count> ReceivedMessage::parse(const wire::Mad& header, mad::MadBytes mad) {
    if (header.management_class != wire::MadClass::communication || header.method != wire::MadMethod::send ||
        header.attribute < static_cast<std::uint16_t>(wire::CmAttribute::req) ||
        header.attribute > static_cast<std::uint16_t>(wire::CmAttribute::apr)) {
        return std::unexpected(Count::rx_dropped_malformed);
    }
    if (header.class_version != wire::cm_class_version) return std::unexpected(Count::rx_dropped_class_version);
    return ReceivedMessage(static_cast<wire::CmAttribute>(header.attribute), header.transaction,
                           mad.last<wire::cm_message_size>());
}

ReceivedMessage::ReceivedMessage(wire::CmAttribute attribute, std::uint64_t transaction, Data data)
    : attribute_(attribute),
      sender_id_(wire::load32(data, 0)),
      receiver_id_(wire::load32(data, attribute == wire::CmAttribute::sidr_rep ? 0 : 4)),
      transaction_(transaction),
      content_(content_of(attribute, data)) {}

/// Any bytes decode to a message: `data` has the right size.
ReceivedMessage::Content ReceivedMessage::content_of(wire::CmAttribute attribute, Data data) {
    using enum wire::CmAttribute;
    switch (attribute) {
        case mra: return *wire::CmMra::parse(data);
        case rej: return *wire::CmRej::parse(data);
        case rep: return *wire::CmRep::parse(data);
        case rtu: return *wire::CmRtu::parse(data);
        case dreq: return *wire::CmDreq::parse(data);
        case drep: return *wire::CmDrep::parse(data);
        case sidr_req: return *wire::CmSidrReq::parse(data);
        case sidr_rep: return *wire::CmSidrRep::parse(data);
        case lap: return *wire::CmLap::parse(data);
        case apr: return *wire::CmApr::parse(data);
        case req: break;
    }
    return *wire::CmReq::parse(data);
}

void write_header(wire::CmAttribute attribute, std::uint64_t transaction, mad::MadBuffer& mad) {
    wire::Mad{.management_class = wire::MadClass::communication,
              .class_version = wire::cm_class_version,
              .method = wire::MadMethod::send,
              .transaction = transaction,
              .attribute = static_cast<std::uint16_t>(attribute)}
        .emit(std::span(mad).first<wire::Mad::size>());
}

}  // namespace verbline::cm
