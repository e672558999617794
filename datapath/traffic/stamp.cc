// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/traffic/stamp.h"

#include "datapath/traffic/frame_spec.h"
#include "datapath/wire/bth.h"
#include "datapath/wire/deth.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/grh.h"
#include "datapath/wire/ipoib.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/tcp.h"
#include "datapath/wire/udp.h"

namespace verbline::traffic {
namespace {

/// What is left of a frame that is read from the front. A header that is cut off leaves nothing.
class Rest {
public:
    explicit Rest(wire::Bytes bytes) : bytes_(bytes) {}

    /// A view of the header, behind which the rest then begins after `size` bytes, which may depend on the header.
    template <class Header, class Size>
    std::optional<wire::View<Header>> take(Size size) {
        const auto view = wire::View<Header>::over(bytes_);
        if (!view) return std::nullopt;
        const std::size_t length = size(*view);
        if (length > bytes_.size()) return std::nullopt;
        bytes_ = bytes_.subspan(length);
        return *view;
    }
    template <class Header>
    std::optional<wire::View<Header>> take() {
        return take<Header>([](const auto&) { return Header::size; });
    }
    wire::Bytes bytes() const { return bytes_; }

private:
    wire::Bytes bytes_;
};

std::optional<wire::EtherType> take_link_header(Rest& rest) {
    const auto ethernet = rest.take<wire::Ethernet>();
    if (!ethernet) return std::nullopt;
    const auto type = ethernet->get<&wire::Ethernet::type>();
    if (type != wire::ether_type::vlan) return type;
    const auto tag = rest.take<wire::Vlan>();
    if (!tag) return std::nullopt;
    return tag->get<&wire::Vlan::type>();
}

std::optional<wire::IpProtocol> take_ip_header(Rest& rest, wire::EtherType type) {
    if (type == wire::ether_type::ipv4) {
        const auto words = [](const auto& ip) { return 4 * std::size_t{ip.template get<&wire::Ipv4::header_words>()}; };
        const auto ip = rest.take<wire::Ipv4>(words);
        if (ip) return ip->get<&wire::Ipv4::protocol>();
    } else if (type == wire::ether_type::ipv6) {
        const auto ip = rest.take<wire::Ipv6>();
        if (ip) return ip->get<&wire::Ipv6::next_header>();
    }
    return std::nullopt;
}

/// What is behind a packet's headers.
enum class Behind : std::uint8_t { nothing, stamp, datagram };

Behind take_ip_packet(Rest& rest, wire::EtherType type) {
    const auto protocol = take_ip_header(rest, type);
    if (protocol == wire::IpProtocol::udp) {
        const auto udp = rest.take<wire::Udp>();
        if (!udp) return Behind::nothing;
        return udp->get<&wire::Udp::destination_port>() == wire::roce_v2_port ? Behind::datagram : Behind::stamp;
    }
    const auto words = [](const auto& tcp) { return 4 * std::size_t{tcp.template get<&wire::Tcp::header_words>()}; };
    return protocol == wire::IpProtocol::tcp && rest.take<wire::Tcp>(words) ? Behind::stamp : Behind::nothing;
}

Behind take_packet(Rest& rest, wire::EtherType type) {
    if (type != wire::ether_type::roce_v1) return take_ip_packet(rest, type);
    return rest.take<wire::Grh>() ? Behind::datagram : Behind::nothing;
}

/// The headers of a datagram to a queue pair, and of the IP packet that IPoIB has in it.
Behind take_datagram(Rest& rest) {
    const auto bth = rest.take<wire::Bth>();
    if (!bth || bth->get<&wire::Bth::opcode>() != wire::ud_send_only) return Behind::nothing;
    const auto deth = rest.take<wire::Deth>();
    if (!deth) return Behind::nothing;
    if (deth->get<&wire::Deth::qkey>() != ipoib_qkey) return Behind::stamp;
    const auto ipoib = rest.take<wire::IpoibHeader>();
    return ipoib ? take_ip_packet(rest, ipoib->get<&wire::IpoibHeader::type>()) : Behind::nothing;
}

}  // namespace

std::optional<Stamp> find_stamp(wire::Bytes frame) noexcept {
    Rest rest(frame);
    const auto type = take_link_header(rest);
    if (!type) return std::nullopt;
    auto behind = take_packet(rest, *type);
    if (behind == Behind::datagram) behind = take_datagram(rest);
    if (behind != Behind::stamp) return std::nullopt;
    const auto stamp = Stamp::parse(rest.bytes());
    return stamp ? std::optional(*stamp) : std::nullopt;
}

}  // namespace verbline::traffic
