// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour/link_address.h"

#include "datapath/wire/ipoib.h"
#include "datapath/wire/text.h"

namespace verbline::neighbour {

bool is_host(const wire::MacAddress& mac) {
    return !mac.multicast() && mac != wire::MacAddress{};
}

bool is_host(const wire::IpoibAddress& address) {
    constexpr wire::Qpn gsi{1};  // 0 and 1 carry management only
    return address.qpn > gsi && address.qpn < wire::multicast_qpn && !address.gid.multicast() &&
           address.gid != wire::Gid{};
}

bool is_host(const LinkAddress& address) {
    return std::visit([](const auto& link) { return is_host(link); }, address);
}

LinkAddress unknown_like(const LinkAddress& address) {
    return std::visit([]<class Address>(const Address&) { return LinkAddress(Address{}); }, address);
}

std::string to_string(const LinkAddress& address) {
    return std::visit([](const auto& link) { return wire::to_string(link); }, address);
}

}  // namespace verbline::neighbour
