// SPDX-License-Identifier: BSD-3-Clause
#include "apps/net_ipoib/null_carrier.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <rte_mbuf.h>
#include <rte_memcpy.h>

#include "datapath/link/mbuf.h"
#include "datapath/transport/ud.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/udp.h"
#include "pmd/allocate.h"

namespace verbline::net_ipoib {
namespace {

constexpr std::uint16_t burst = 32;  // as many as programs ask for

ipoib::Identity identity(std::uint16_t lid) {
    return {.port = {.carrier = link::Carrier::soft_ib,
                     .gid = wire::Gid::of(wire::default_subnet_prefix, wire::Guid{lid}),
                     .lid = wire::Lid{lid}},
            .qpn = wire::Qpn{0x48},
            .qkey = wire::QKey{0x0b1b}};
}

/// UDP without a checksum of its own, to where l3fwd has a route of its own (RFC 2544, C.2.2: of benchmarks).
std::vector<std::byte> ip_packet(std::uint32_t size) {
    std::vector<std::byte> packet(size);
    const auto ip = std::span(packet).first<wire::Ipv4::size>();
    wire::Ipv4{.total_length = static_cast<std::uint16_t>(size),
               .protocol = wire::IpProtocol::udp,
               .source = wire::ipv4(198, 18, 1, 1),
               .destination = wire::ipv4(198, 18, 0, 1)}
        .with_checksum()
        .emit(ip);
    wire::Udp{.source_port = 1024, .destination_port = 9, .length = static_cast<std::uint16_t>(size - wire::Ipv4::size)}
        .emit(std::span(packet).subspan<wire::Ipv4::size, wire::Udp::size>());
    return packet;
}

}  // namespace

const ipoib::Identity& NullCarrier::own() {
    static const auto one = identity(1);
    return one;
}
const ipoib::Identity& NullCarrier::host() {
    static const auto one = identity(2);
    return one;
}

NullCarrier::NullCarrier(const pmd::PacketPools& pools, std::uint16_t queues, std::vector<std::byte> frame)
    : pools_(pools),
      frame_(std::move(frame)),
      capabilities_{.rx_queues = queues, .tx_queues = queues, .max_packet = UINT16_MAX} {}

Result<std::unique_ptr<NullCarrier>> NullCarrier::create(const pmd::PacketPools& pools, std::uint16_t queues,
                                                         std::uint32_t packet) {
    auto* const mbuf = rte_pktmbuf_alloc(pools[0]);
    if (mbuf == nullptr) return failure(ENOMEM, "the pool of packets is empty");
    const auto bytes = ip_packet(packet);
    const auto to = ipoib::destination(host(), {.dlid = own().port.lid}, own().qpn, wire::ether_type::ipv4);
    auto* const at = rte_pktmbuf_append(mbuf, static_cast<std::uint16_t>(bytes.size()));
    std::vector<std::byte> frame;
    if (at != nullptr) {
        std::memcpy(at, bytes.data(), bytes.size());
        if (link::prepend(*mbuf, to.header) && transport::finish_datagram(*mbuf, to, wire::Psn{})) {
            const auto* const begin = rte_pktmbuf_mtod(mbuf, const std::byte*);
            frame.assign(begin, begin + mbuf->data_len);
        }
    }
    rte_pktmbuf_free(mbuf);
    if (frame.empty()) return failure(EINVAL, "the buffers of the pool are too short for the packet of device=null");
    return std::unique_ptr<NullCarrier>(new NullCarrier(pools, queues, std::move(frame)));
}

std::uint16_t NullCarrier::rx_burst(std::uint16_t queue, pmd::Burst out) noexcept {
    const auto frames = out.first(pmd::allocate(*pools_[queue], out.first(std::min<std::size_t>(out.size(), burst))));
    for (auto* frame : frames) {
        rte_memcpy(rte_pktmbuf_mtod(frame, std::byte*), frame_.data(), frame_.size());
        frame->data_len = static_cast<std::uint16_t>(frame_.size());
        frame->pkt_len = frame->data_len;
    }
    return static_cast<std::uint16_t>(frames.size());
}

std::uint16_t NullCarrier::tx_burst(std::uint16_t, pmd::Burst frames) noexcept {
    if (!frames.empty()) rte_pktmbuf_free_bulk(frames.data(), static_cast<unsigned>(frames.size()));
    return static_cast<std::uint16_t>(frames.size());
}

}  // namespace verbline::net_ipoib
