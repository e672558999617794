// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A packet socket (packet(7)) on one existing interface: its properties, the receive filter, and the receive ring.

#include <cstdint>
#include <span>
#include <string>
#include <system_error>

#include "datapath/wire/types.h"
#include "pmd/base/error.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::pmd::packet {

/// Layout of the receive ring: `slots` slots of `slot_size` bytes, one frame each.
struct RingGeometry {
    std::uint32_t slot_size = 0, slots = 0, block_size = 0;
};

/// Returns the layout for frames of up to `max_frame` bytes in about `bytes` of memory.
RingGeometry ring_geometry(std::size_t max_frame, std::size_t bytes);

class Socket {
public:
    /// Nothing is received before `bind`. Errors: no such interface, not Ethernet, no permission.
    static Result<Socket> open(const std::string& interface);

    int fd() const { return fd_.get(); }
    const wire::MacAddress& mac() const { return mac_; }
    std::uint32_t mtu() const { return mtu_; }
    bool is_up() const;        ///< administratively up
    bool has_carrier() const;  ///< up, and with carrier

    Result<void> filter_rdma();
    Result<std::span<std::byte>> map_ring(const RingGeometry& geometry);  ///< valid until it is unmapped (ReceiveRing)
    Result<void> bind(bool receiving);
    /// Joins or leaves a packet-socket membership. `type` is PACKET_MR_...; `mac` is used by types that have an
    /// address.
    std::error_code set_membership(bool member, unsigned short type, const wire::MacAddress& mac);
    /// Frames that the kernel dropped for lack of a free slot since the last call.
    std::uint32_t take_drops();

private:
    Socket() = default;
    Result<void> ask_kernel();

    std::string name_;
    FileDescriptor fd_;
    int ifindex_ = 0;
    wire::MacAddress mac_;
    std::uint32_t mtu_ = 0;
};

}  // namespace verbline::pmd::packet
