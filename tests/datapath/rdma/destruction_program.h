// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A program that makes objects of every kind on its host, uses them, and destroys any that nothing is made from,
/// whatever is under way. What an object was made from it holds by shared pointer: one that is not shared may go.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "datapath/rdma/queue_pair.h"
#include "tests/sim/random.h"
#include "tests/sim/world.h"

namespace verbline::destruction {

using transport::QueuePairType;

/// How many of each kind.
using Counts = std::map<std::string_view, std::uint64_t>;

struct Queue {
    std::unique_ptr<transport::CompletionQueue> native;
};

struct Domain {
    rdma::XrcDomain native;
};

struct Shared {
    std::shared_ptr<Queue> completions;  ///< XRC
    std::shared_ptr<Domain> domain;      ///< XRC
    std::unique_ptr<rdma::SharedReceiveQueue> native;
};

/// Memory is kept when its region has gone: nobody may change it any more.
struct Memory {
    std::vector<std::byte> bytes;
    std::optional<rdma::MemoryRegion> region;
};

struct Pair {
    QueuePairType type{};
    std::shared_ptr<Queue> sends, receives;
    std::shared_ptr<Shared> shared;
    std::shared_ptr<Domain> domain;
    std::vector<std::unique_ptr<rdma::QueuePair>> handles;  ///< XRC targets may have several
    bool reads = false;                                     ///< the connection may carry READs and atomics

    rdma::QueuePair& native() { return *handles.front(); }
    wire::Qpn qpn() const { return handles.front()->qpn(); }
};

/// What a peer is told of: where it may write, and which queues it may name.
struct Offer {
    std::uint64_t address = 0;
    wire::RKey rkey{};
    std::uint32_t xrc_queue = 0;
    wire::Qpn datagrams{};
};

class Program {
public:
    Program(sim::World& world, sim::Host& host, sim::Random& random);
    ~Program();

    static constexpr std::uint32_t block = 8192;  ///< bytes of a region
    static constexpr std::uint32_t mtu = 256;

    // Makes.
    std::shared_ptr<Pair> make(QueuePairType type);
    void make_part();  ///< a queue, region, window or domain
    void connect(Pair& pair, wire::Qpn remote, const sim::Host& to);

    // Uses.
    Offer offer();
    void post(const Offer& to);
    void post_receives();
    void poll();
    void change_state();
    void look_at_events();

    // Destroys one of a kind that may go; false: none may.
    bool destroy_one();
    void destroy_all();

    const Counts& destroyed() const { return destroyed_; }
    std::uint64_t under_traffic() const { return under_traffic_; }
    std::uint64_t completed() const { return completed_; }
    std::uint64_t succeeded() const { return succeeded_; }
    /// The first thing that was wrong; empty: nothing was.
    const std::string& fault() const { return fault_; }

private:
    template <class T>
    std::shared_ptr<T> any(std::vector<std::shared_ptr<T>>& all) {
        return all.empty() ? nullptr : all[random_.below(all.size())];
    }
    template <class T, class Finish>
    bool destroy(std::vector<std::shared_ptr<T>>& all, Finish&& finish);
    template <class T>
    bool destroy_any(std::vector<std::shared_ptr<T>>& all, std::string_view kind);
    void count(std::string_view kind) { ++destroyed_[kind]; }
    std::shared_ptr<Domain> xrc_domain();
    template <class To>
    void post_receives_to(To& to);
    void post_receives(Shared& shared);
    bool destroy_pair();
    bool destroy_region();
    bool destroy_window();
    void make_queue();
    void make_shared(bool xrc);
    void make_region();
    void make_window();
    std::optional<transport::Segment> segment(std::uint32_t most);
    transport::SendRequest request(const Pair& pair, const Offer& to);
    void wrong(std::string what);

    sim::World& world_;
    sim::Host& host_;
    sim::Random& random_;
    memory::PdId pd_;
    std::vector<std::shared_ptr<Queue>> queues_;
    std::vector<std::shared_ptr<Domain>> domains_;
    std::vector<std::shared_ptr<Shared>> shared_;
    std::vector<std::shared_ptr<Memory>> memory_;
    std::vector<std::vector<std::byte>> dead_;
    struct Window {
        rdma::MemoryWindow native;
        memory::WindowType type{};
        wire::RKey key{};  ///< as of the last bind
    };
    std::vector<Window> windows_;
    std::vector<std::shared_ptr<Pair>> pairs_;
    std::optional<link::Envelope> to_peer_;  ///< datagrams; outlives them
    std::set<std::uint64_t> outstanding_;
    std::uint64_t next_id_ = 1, completed_ = 0, succeeded_ = 0, under_traffic_ = 0;
    Counts destroyed_;
    std::string fault_;
};

}  // namespace verbline::destruction
