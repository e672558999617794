// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/packet/ring.h"

#include <atomic>
#include <utility>

#include <linux/if_ether.h>
#include <sys/mman.h>

namespace verbline::pmd::packet {

ReceiveRing::ReceiveRing(ReceiveRing&& other) noexcept
    : memory_(std::exchange(other.memory_, std::span<std::byte>())), geometry_(other.geometry_), next_(other.next_) {}

ReceiveRing::~ReceiveRing() {
    if (!memory_.empty()) munmap(memory_.data(), memory_.size());
}

tpacket2_hdr& ReceiveRing::header() const {
    return *reinterpret_cast<tpacket2_hdr*>(memory_.data() + std::size_t{next_} * geometry_.slot_size);
}

std::optional<ReceiveRing::Frame> ReceiveRing::front() const {
    auto& slot = header();
    const auto status = std::atomic_ref(slot.tp_status).load(std::memory_order_acquire);
    if ((status & TP_STATUS_USER) == 0) return std::nullopt;
    const wire::Bytes whole(reinterpret_cast<const std::byte*>(&slot), geometry_.slot_size);
    if (std::size_t{slot.tp_mac} + slot.tp_snaplen > whole.size()) return Frame{.whole = false};
    Frame frame{.bytes = whole.subspan(slot.tp_mac, slot.tp_snaplen), .whole = slot.tp_snaplen == slot.tp_len};
    if ((status & TP_STATUS_VLAN_VALID) != 0) {
        const std::uint32_t type = (status & TP_STATUS_VLAN_TPID_VALID) != 0 ? slot.tp_vlan_tpid : ETH_P_8021Q;
        frame.tag = type << 16 | slot.tp_vlan_tci;
    }
    return frame;
}

void ReceiveRing::release() {
    std::atomic_ref(header().tp_status).store(TP_STATUS_KERNEL, std::memory_order_release);
    next_ = next_ + 1 == geometry_.slots ? 0 : next_ + 1;
}

}  // namespace verbline::pmd::packet
