// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One end of a conversation that a fuzzer stands in the middle of: a device with queue pairs of every type, and memory
/// of which each byte is known to be writable by the peer or not.
///
///     │ guard │ open: every right │ guard │ shown: remote read alone │ guard │        pages: 1, 2, 1, 1, 1

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "datapath/rdma/queue_pair.h"
#include "tests/fuzz/datapath/packets.h"

namespace verbline::fuzz {

/// Holds what the device sends and hands it what the fuzzer lets through.
class Cable : public pmd::NetDevice {
public:
    explicit Cable(wire::MacAddress mac) : mac_(mac) {}
    ~Cable() override;
    std::string_view name() const override { return "cable"; }
    const pmd::Capabilities& capabilities() const override { return capabilities_; }
    std::optional<wire::MacAddress> mac() const override { return mac_; }
    Result<void> up() override { return {}; }
    void down() override {}
    bool link_up() override { return true; }
    std::uint16_t rx_burst(std::uint16_t, pmd::Burst burst) noexcept override;
    /// Every frame must be one that a receiver takes.
    std::uint16_t tx_burst(std::uint16_t, pmd::Burst burst) noexcept override;
    void counters(const CounterVisitor&) const override {}

    std::deque<rte_mbuf*> sent, received;

private:
    wire::MacAddress mac_;
    pmd::Capabilities capabilities_{.max_packet = 4096};
};

class Side {
public:
    enum Which : std::size_t { rc, rc_shared, uc, ud, xrc_initiator, xrc_target, count };
    static constexpr std::size_t page = 4096;
    static constexpr std::uint32_t mtu = 256;

    explicit Side(std::uint8_t number);
    ~Side();
    Side(const Side&) = delete;
    Side& operator=(const Side&) = delete;

    static Which peer_of(std::size_t which);
    wire::Qpn qpn(std::size_t which) const { return pairs_[which]->qpn(); }
    wire::Gid gid() const;
    wire::MacAddress mac() const { return mac_; }
    link::Envelope envelope_to(const Side& other) const;

    void connect(std::size_t which, const Side& other, wire::Psn ours, wire::Psn theirs);
    void reset(std::size_t which) { pairs_[which]->reset(); }
    void fail(std::size_t which) { pairs_[which]->error(); }
    void post(Input& input, const Side& other);
    void post_receive(Input& input);
    void poll(Time now);
    /// Releases the open region, or registers it again: nobody has written to it meanwhile.
    void toggle_region();
    void replace_xrc_queue();

    // What a peer may know, and more.
    wire::RKey key(unsigned choice) const;
    std::uint64_t address(unsigned choice) const;
    std::uint32_t xrc_queue() const { return xrc_queue_->number(); }

    /// Memory that nobody may write to is as it was, and what has been released as it was then.
    void expect_intact() const;

    Cable cable;

private:
    std::span<std::byte> open() { return std::span(memory_).subspan(page, 2 * page); }
    std::span<const std::byte> open() const { return std::span(memory_).subspan(page, 2 * page); }
    std::span<std::byte> shown() { return std::span(memory_).subspan(4 * page, page); }
    void register_open();
    void make_xrc_queue();
    void make_pair(std::size_t which);
    void bind(Input& input);

    wire::MacAddress mac_;
    std::uint8_t number_;
    alignas(page) std::array<std::byte, 6 * page> memory_{};
    std::unique_ptr<rdma::Device> device_;
    memory::PdId pd_;
    std::optional<rdma::MemoryRegion> open_, shown_;
    std::optional<rdma::MemoryWindow> window1_, window2_;
    wire::RKey window1_key_{}, window2_key_{};
    std::vector<std::byte> released_;  ///< contents of the open region when it was released
    std::unique_ptr<transport::CompletionQueue> cq_, xrc_cq_;
    std::optional<rdma::XrcDomain> domain_;
    std::unique_ptr<rdma::SharedReceiveQueue> shared_, xrc_queue_;
    std::array<std::unique_ptr<rdma::QueuePair>, count> pairs_;
    std::optional<link::Envelope> to_peer_;  ///< of datagrams; outlives them
    std::set<std::uint64_t> outstanding_;
    std::uint64_t next_id_ = 1;
};

}  // namespace verbline::fuzz
