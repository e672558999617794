// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A packet socket on one existing interface (packet(7)): what the kernel says of the interface, which frames it lets
/// through, and the ring into which it puts them.

#include <cstdint>
#include <span>
#include <string>
#include <system_error>

#include "datapath/wire/types.h"
#include "pmd/base/error.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::pmd::packet {

/// The memory into which the kernel receives: `slots` slots of `slot_size` bytes, each with one frame.
struct RingGeometry {
    std::uint32_t slot_size = 0, slots = 0, block_size = 0;
};

/// For frames of up to `max_frame` bytes in about `bytes` of memory.
RingGeometry ring_geometry(std::size_t max_frame, std::size_t bytes);

class Socket {
public:
    /// Nothing is received before `bind`. Errors: no such interface, not Ethernet, no permission.
    static Result<Socket> open(const std::string& interface);

    int fd() const { return fd_.get(); }
    const wire::MacAddress& mac() const { return mac_; }
    std::uint32_t mtu() const { return mtu_; }
    bool is_up() const;        ///< brought up by whoever owns it
    bool has_carrier() const;  ///< and its link is there

    Result<void> filter_rdma();
    Result<std::span<std::byte>> map_ring(const RingGeometry& geometry);  ///< for as long as the process has it mapped
    Result<void> bind(bool receiving);
    /// `type` is PACKET_MR_...; `mac` matters for those that have one.
    std::error_code set_membership(bool member, unsigned short type, const wire::MacAddress& mac);
    /// Frames that the kernel found no free slot for, since the last call.
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
