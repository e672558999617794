// SPDX-License-Identifier: BSD-3-Clause
#include "control/cm/message.h"

namespace verbline::cm {

std::expected<Incoming, Count> Incoming::parse(mad::MadBytes mad) {
    const auto header = wire::Mad::parse(mad);
    if (!header || header->management_class != wire::MadClass::communication ||
        header->method != wire::MadMethod::send ||
        header->attribute < static_cast<std::uint16_t>(wire::CmAttribute::req) ||
        header->attribute > static_cast<std::uint16_t>(wire::CmAttribute::apr)) {
        return std::unexpected(Count::rx_dropped_malformed);
    }
    if (header->class_version != wire::cm_class_version) return std::unexpected(Count::rx_dropped_class_version);
    return Incoming(*header, mad);
}

Incoming::Incoming(const wire::Mad& header, mad::MadBytes mad)
    : attribute_(static_cast<wire::CmAttribute>(header.attribute)),
      transaction_(header.transaction),
      data_(mad.last<wire::cm_message_size>()) {}

void write_header(wire::CmAttribute attribute, std::uint64_t transaction, mad::MadBuffer& mad) {
    wire::Mad{.management_class = wire::MadClass::communication,
              .class_version = wire::cm_class_version,
              .method = wire::MadMethod::send,
              .transaction = transaction,
              .attribute = static_cast<std::uint16_t>(attribute)}
        .emit(std::span(mad).first<wire::Mad::size>());
}

}  // namespace verbline::cm
