// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/arp_message.h"

#include "datapath/wire/text.h"

namespace verbline::host {

wire::Parsed<ArpMessage> ArpMessage::parse(wire::Bytes packet, const HardwareAddress& like) {
    return std::visit(
        [&]<class Address>(const Address&) -> wire::Parsed<ArpMessage> {
            const auto arp = wire::Arp<Address>::parse(packet);
            if (!arp) return std::unexpected(arp.error());
            return ArpMessage{arp->operation, arp->sender_link, arp->sender, arp->target_link, arp->target};
        },
        like);
}

std::size_t ArpMessage::emit(wire::MutableBytes out) const {
    return std::visit(
        [&]<class Address>(const Address& from) {
            using Arp = wire::Arp<Address>;
            const Arp arp{operation, from, sender, std::get<Address>(target_link), target};
            arp.emit(out.template first<Arp::size>());
            return Arp::size;
        },
        sender_link);
}

HardwareAddress unknown_like(const HardwareAddress& address) {
    return std::visit([]<class Address>(const Address&) { return HardwareAddress(Address{}); }, address);
}

bool is_neighbour_address(const HardwareAddress& address) {
    if (const auto* mac = std::get_if<wire::MacAddress>(&address)) {
        return !mac->multicast() && *mac != wire::MacAddress{};
    }
    constexpr wire::Qpn gsi{1}, multicast{0xffffff};  // 0 and 1 carry management only
    const auto& ipoib = std::get<wire::IpoibAddress>(address);
    return ipoib.qpn > gsi && ipoib.qpn < multicast && !ipoib.gid.multicast() && ipoib.gid != wire::Gid{};
}

std::string to_string(const HardwareAddress& address) {
    return std::visit([](const auto& link) { return wire::to_string(link); }, address);
}

}  // namespace verbline::host
