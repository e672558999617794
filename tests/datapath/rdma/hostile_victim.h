// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A host with one queue pair, connected to a peer that is an attacker with a raw port. What the host does is told in
/// words, to be compared and printed.

#include <map>
#include <memory>
#include <string>

#include <sys/mman.h>

#include "datapath/rdma/queue_pair.h"
#include "tests/datapath/rdma/hostile_attack.h"
#include "tests/sim/world.h"
#include "tests/support/packet.h"

namespace verbline::hostile {

/// Pages of our own, that can go away.
class Pages {
public:
    static constexpr std::size_t page = 4096;

    explicit Pages(std::size_t count);
    ~Pages();
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;

    std::span<std::byte> bytes() { return bytes_; }
    void take_away(std::size_t from);  ///< this page and those behind it

private:
    std::span<std::byte> bytes_;
};

class Victim {
public:
    static constexpr wire::Qpn peer_qpn{0x654321};
    static constexpr std::uint32_t expected_psn = 0xfffff0, first_psn = 0x100;  ///< the former wraps soon

    explicit Victim(const Row& row);
    ~Victim();

    void attack();

    std::string answers();      ///< frames that it sent since the attack began
    std::string counters();     ///< that moved since
    std::string completions();  ///< since it was made
    std::string events();       ///< since the attack began
    transport::QueuePairState state() const { return pair_->state(); }
    /// Memory differs nowhere but in the first `written` bytes of the good region.
    bool intact_beyond(std::size_t written) const;

private:
    struct Area {
        wire::RKey key{};
        std::uint64_t address = 0;
    };

    void register_keys();
    void make_pair();
    void connect();
    void post();
    link::Envelope envelope(From from) const;
    test::ByteVector build(const Frame& frame) const;
    void append_headers(test::ByteVector& bytes, const Frame& frame) const;
    std::string describe(const rte_mbuf& frame) const;
    std::map<std::string, std::uint64_t> counted() const;
    std::uint32_t base_of(std::uint8_t opcode) const;

    const Row& row_;
    sim::World world_;
    sim::Host& host_;
    sim::SimulatedPort& attacker_;
    memory::PdId pd_, other_pd_;
    Pages memory_{4}, gone_{2}, half_gone_{2};
    test::ByteVector snapshot_;
    std::vector<rdma::MemoryRegion> regions_;
    std::optional<rdma::MemoryWindow> window_;
    std::map<Key, Area> areas_;
    std::unique_ptr<transport::CompletionQueue> cq_;
    std::unique_ptr<rdma::SharedReceiveQueue> srq_, other_srq_;
    std::unique_ptr<rdma::QueuePair> pair_;
    std::map<std::string, std::uint64_t> counters_before_;
};

}  // namespace verbline::hostile
