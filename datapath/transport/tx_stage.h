// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A shard's transmit stage: builds one frame at a time in place, then computes CRCs and stages it for the device.
///
///     begin(envelope, size) ──> caller writes BTH, headers, payload, padding ──> commit ──> staged ──> tx_burst
///                                                                                  └─ to ourselves ──> loopback
///
/// A member of a node (link/member.h) shares its address with the node's other members: what is for one of these goes
/// to the device, under that member's own MAC address.
///
/// CRCs are computed for several frames at a time: for a single frame the loads stall on the stores just made, and the
/// CRC chain is latency bound; several frames overlap. At most as many bytes as stay in the L1 cache.
///
/// Nothing is dropped here: while the stage is full, `begin` fails and the sender retries in the next poll. Owned by
/// one shard.

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "datapath/link/envelope.h"
#include "datapath/link/member.h"
#include "datapath/transport/counters.h"
#include "datapath/wire/bytes.h"
#include "pmd/netdev.h"

struct rte_mbuf;
struct rte_mempool;

namespace verbline::transport {

class TxStage {
public:
    TxStage(pmd::NetDevice& device, std::uint16_t queue, rte_mempool& pool, RdmaCounters& counters);
    TxStage(const TxStage&) = delete;
    TxStage& operator=(const TxStage&) = delete;
    ~TxStage();

    /// Frames to this address, and copies of multicast frames, are looped back, as an HCA does.
    void set_address(const wire::MacAddress& mac) { address_ = mac; }
    /// Soft fabric: the port has another LID than when envelopes were built. As an adapter's, packets carry the port's.
    void set_source(wire::Lid lid) { source_ = lid; }
    /// From now on, only those for queue pairs of this member.
    void set_member(link::MemberId member) { member_ = member; }
    bool is_ours(const wire::MacAddress& mac) const { return mac == address_; }
    /// Whether a received frame is for this address or a group.
    bool accepts(wire::Bytes frame) const {
        return (frame[0] & std::byte{1}) != std::byte{0} || is_to(frame, address_) ||
               (member_ && is_to(frame, link::mac_of(*member_)));
    }

    /// While the mempool is empty the last cached buffers are reserved for answers: these let peers proceed and so free
    /// buffers, whereas requests only take more.
    enum class Use : std::uint8_t { request, answer };

    /// Room for a transport packet of `size` bytes, BTH through padding, a multiple of four. Empty if the stage is full
    /// or no mbuf is free: retry in a later poll.
    wire::MutableBytes begin(const link::Envelope& envelope, std::size_t size, Use use = Use::request) noexcept;
    /// Queues the frame begun last for transmission, or for loopback.
    void commit(const link::Envelope& envelope) noexcept;

    /// Gives staged frames to the device. Call once per poll, also when nothing was sent (see NetDevice::tx_burst).
    void flush() noexcept;

    /// Frames to ourselves; the caller takes ownership and empties the list.
    std::vector<rte_mbuf*>& loopback() { return loopback_; }

    /// True if `begin` has failed since the last call of `refused`.
    bool refused() { return std::exchange(refused_, false); }
    bool full() const { return staged_count_ + written_count_ >= stage_limit; }
    bool empty() const { return staged_count_ + written_count_ == 0; }

private:
    static constexpr std::size_t stage_limit = 2 * pmd::max_burst, cached = 32, for_answers = 8, sealed_at_once = 8192;

    static bool is_to(wire::Bytes frame, const wire::MacAddress& mac) {
        return std::memcmp(frame.data(), mac.bytes.data(), mac.bytes.size()) == 0;
    }

    rte_mbuf* allocate(Use use) noexcept;
    void seal_written() noexcept;
    void dispatch(rte_mbuf* frame) noexcept;
    bool address_to_member(wire::MutableBytes frame) const noexcept;
    void stage(rte_mbuf* frame) noexcept;
    void offer() noexcept;

    pmd::NetDevice& device_;
    rte_mempool& pool_;
    RdmaCounters& counters_;
    std::uint16_t queue_;
    std::uint16_t ip_id_ = 0;
    bool refused_ = false;
    wire::MacAddress address_{};
    std::optional<link::MemberId> member_;
    std::optional<wire::Lid> source_;  ///< none: that of the envelopes
    rte_mbuf* current_ = nullptr;
    /// Committed, CRCs not yet computed.
    struct Written {
        rte_mbuf* frame;
        link::Sealing sealing;
    };
    std::array<Written, pmd::max_burst / 2> written_{};
    std::size_t written_count_ = 0, written_bytes_ = 0;
    std::array<rte_mbuf*, cached> cache_{};
    std::size_t cache_count_ = 0;
    std::array<rte_mbuf*, stage_limit> staged_{};
    std::size_t staged_count_ = 0;
    std::vector<rte_mbuf*> loopback_;
};

}  // namespace verbline::transport
