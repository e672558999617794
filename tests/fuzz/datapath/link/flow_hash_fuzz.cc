// SPDX-License-Identifier: BSD-3-Clause
// The flow of a frame, whose bytes a hostile neighbour chooses: what names it lies in the frame, what follows does not
// matter, and its hash is that of DPDK. Random bytes are rarely InfiniBand packets, so each input is also tried as one.
#include <algorithm>
#include <array>
#include <vector>

#include <rte_thash.h>

#include "datapath/link/flow_hash.h"
#include "tests/fuzz/datapath/packets.h"

using namespace verbline;
using fuzz::expect;
using pmd::Carries;

namespace {

constexpr link::FrameFlowHash::Key key() {
    link::FrameFlowHash::Key key{};
    for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(i * i * 37 + i * 11 + 5);
    return key;
}

std::uint32_t expected_hash(const link::Flow& flow) {
    alignas(std::uint32_t) static const auto words = key();
    std::vector input(flow.addresses.begin(), flow.addresses.end());
    input.insert(input.end(), flow.ports.begin(), flow.ports.end());
    std::array<std::uint32_t, offload::Toeplitz::max_input / 4> in_host_order{};
    for (std::size_t i = 0; i < input.size() / 4; ++i) in_host_order[i] = wire::load32(input, i * 4);
    return rte_softrss(in_host_order.data(), static_cast<std::uint32_t>(input.size() / 4), words.data());
}

/// Where the bytes end in the packet; 0 if there are none.
std::size_t end_of(wire::Bytes bytes, wire::Bytes packet) {
    if (bytes.empty()) return 0;
    expect(bytes.data() >= packet.data() && bytes.data() + bytes.size() <= packet.data() + packet.size());
    return static_cast<std::size_t>(bytes.data() + bytes.size() - packet.data());
}

void check(Carries carries, wire::Bytes packet) {
    static const link::FrameFlowHash flows(key());
    const auto flow = link::flow_of(carries, packet);
    expect(flow.addresses.empty() || flow.addresses.size() == 8 || flow.addresses.size() == 32);
    expect(flow.ports.empty() || (flow.ports.size() == 4 && !flow.addresses.empty()));

    const auto end = std::max(end_of(flow.addresses, packet), end_of(flow.ports, packet));
    const std::vector needed(packet.begin(), packet.begin() + static_cast<std::ptrdiff_t>(end));
    const auto again = link::flow_of(carries, needed);
    expect(std::ranges::equal(again.addresses, flow.addresses) && std::ranges::equal(again.ports, flow.ports));

    rte_mbuf mbuf{};
    mbuf.buf_addr = const_cast<std::byte*>(packet.data());
    mbuf.data_len = static_cast<std::uint16_t>(packet.size());
    auto* one = &mbuf;
    std::uint32_t hash = ~0u;
    flows.hash(carries, {&one, 1}, {&hash, 1});
    expect(hash == expected_hash(flow));
    expect(!flow.addresses.empty() || hash == pmd::FlowHash::none);
}

/// An InfiniBand packet with these bytes behind its DETH.
std::vector<std::byte> dressed(wire::Bytes bytes, bool soft, bool global) {
    const std::size_t lrh = soft ? 8 : 0, grh = global || !soft ? 40 : 0;
    std::vector<std::byte> frame(14 + lrh + grh + 20);
    wire::store16(frame, 12, soft ? 0x88b5 : 0x8915);
    if (soft) wire::store8(frame, 14 + 1, global ? 3 : 2);
    if (grh != 0) wire::store8(frame, 14 + lrh + 6, 0x1b);
    wire::store8(frame, 14 + lrh + grh, 0x64);
    frame.insert(frame.end(), bytes.begin(), bytes.end());
    return frame;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Input input(std::as_bytes(std::span(data, std::min<std::size_t>(size, 9000))));
    const auto choice = input.byte();
    const auto bytes = input.take(size);
    check(static_cast<Carries>(choice % 3), bytes);
    check(Carries::ethernet, dressed(bytes, (choice & 4) != 0, (choice & 8) != 0));
    return 0;
}
