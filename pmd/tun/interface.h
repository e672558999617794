// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A kernel TUN or TAP interface, created or attached to through /dev/net/tun.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "datapath/wire/types.h"
#include "pmd/base/error.h"
#include "pmd/base/file_descriptor.h"

struct ifreq;

namespace verbline::pmd {

enum class TunKind : std::uint8_t {
    tun,  ///< packets begin with the IP header
    tap,  ///< packets begin with the Ethernet header
};

struct TunOptions {
    std::string name;   ///< up to 15 characters; with %d the kernel picks a number
    std::string netns;  ///< as NetnsGuard::enter takes it; empty: the caller's
    TunKind kind = TunKind::tun;
    std::uint16_t queues = 1;  ///< an interface that was made with one has no more
    std::uint16_t mtu = 1500;
    std::uint16_t transmit_queue_length = 1000;  ///< packets that the kernel queues for this process before it drops
    std::optional<wire::MacAddress> mac;         ///< MAC address of the kernel's side of a TAP; none: left unchanged
    bool persistent = false;                     ///< the interface outlives the process, with its addresses and routes
    bool offloads = true;  ///< the kernel may leave checksums and segmentation of what it sends to this process
};

/// Control operations of an open interface. They work from any network namespace: the socket stays in the interface's.
class TunInterface {
public:
    /// Creates the interface, or attaches to an existing one (`ip tuntap add`, or an earlier persistent instance).
    static Result<TunInterface> open(const TunOptions& options);

    const std::string& name() const { return name_; }
    std::uint16_t queues() const { return static_cast<std::uint16_t>(queues_.size()); }
    int queue(std::size_t i) const {
        return queues_[i].get();
    }  ///< non-blocking; every packet is preceded by a
       ///< VnetHeader

    /// Whether the kernel takes several UDP datagrams as one packet (VIRTIO_NET_HDR_GSO_UDP_L4, since Linux 6.2).
    bool takes_udp_segmentation() const { return takes_udp_segmentation_; }

    Result<void> set_up(bool up);
    bool is_up() const;
    /// Whether the kernel takes the interface's link to be up (IFF_LOWER_UP); at first it does. Without a carrier the
    /// kernel sends nothing, and tells routing daemons. Linux 5.0 or later; EINVAL before.
    Result<void> set_carrier(bool carrier);

private:
    TunInterface() = default;
    Result<void> attach(const TunOptions& options);
    Result<void> open_first_queue(ifreq& request);
    Result<void> configure(const TunOptions& options);

    std::string name_;
    FileDescriptor control_;
    std::vector<FileDescriptor> queues_;
    bool takes_udp_segmentation_ = false;
};

}  // namespace verbline::pmd
