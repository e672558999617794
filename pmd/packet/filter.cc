// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/packet/filter.h"

#include <array>

#include "datapath/wire/ethernet.h"
#include "datapath/wire/ip.h"
#include "datapath/wire/udp.h"

namespace verbline::pmd::packet {
namespace {

constexpr sock_filter load16(std::uint32_t at) {
    return BPF_STMT(BPF_LD | BPF_H | BPF_ABS, at);
}
constexpr sock_filter load8(std::uint32_t at) {
    return BPF_STMT(BPF_LD | BPF_B | BPF_ABS, at);
}

/// Steps by their numbers; the filter itself has distances from the instruction that follows.
struct Step {
    unsigned here;

    constexpr std::uint8_t to(unsigned there) const { return static_cast<std::uint8_t>(there - here - 1); }
    template <class Value>
    constexpr sock_filter equal(Value value, unsigned yes, unsigned no) const {
        return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(value), to(yes), to(no));
    }
    constexpr sock_filter any_bit(std::uint32_t bits, unsigned yes, unsigned no) const {
        return BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, to(yes), to(no));
    }
    constexpr sock_filter go(unsigned there) const { return BPF_STMT(BPF_JMP | BPF_JA, to(there)); }
};

constexpr std::uint32_t ether_type_at = 12, ip_at = 14, ipv6_header = 40;
constexpr std::uint32_t fragment_offset = 0x1fff, whole_packet = 0x40000;
constexpr unsigned ipv4 = 6, ipv6 = 13, port = 17, reject = 19, accept = 20;

using wire::IpProtocol::icmp, wire::IpProtocol::icmpv6, wire::IpProtocol::udp;

constexpr auto instructions = std::to_array<sock_filter>({
    load16(ether_type_at),                                // 0
    Step{1}.equal(wire::ether_type::roce_v1, accept, 2),  //
    Step{2}.equal(wire::ether_type::soft_ib, accept, 3),  //
    Step{3}.equal(wire::ether_type::arp, accept, 4),      //
    Step{4}.equal(wire::ether_type::ipv6, ipv6, 5),       //
    Step{5}.equal(wire::ether_type::ipv4, ipv4, reject),  //
    load8(ip_at + 9),                                     // ipv4: the protocol
    Step{7}.equal(icmp, accept, 8),                       //
    Step{8}.equal(udp, 9, reject),                        //
    load16(ip_at + 6),                                    //
    Step{10}.any_bit(fragment_offset, reject, 11),        // its UDP header is in the first fragment
    BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, ip_at),           // X: the IPv4 header's length
    Step{12}.go(port),                                    //
    load8(ip_at + 6),                                     // ipv6: the next header
    Step{14}.equal(icmpv6, accept, 15),                   //
    Step{15}.equal(udp, 16, reject),                      //
    BPF_STMT(BPF_LDX | BPF_W | BPF_IMM, ipv6_header),     // X
    BPF_STMT(BPF_LD | BPF_H | BPF_IND, ip_at + 2),        // port: UDP's destination
    Step{18}.equal(wire::roce_v2_port, accept, reject),   //
    BPF_STMT(BPF_RET | BPF_K, 0),                         // reject
    BPF_STMT(BPF_RET | BPF_K, whole_packet),              // accept
});
static_assert(instructions.size() == accept + 1);

}  // namespace

std::span<const sock_filter> rdma_filter() {
    return instructions;
}

}  // namespace verbline::pmd::packet
