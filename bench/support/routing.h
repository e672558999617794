// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A router of any number of shards between two ports whose devices only count and hand their buffers back, so that
/// what is measured is the router. Each shard has its own queue of both.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_rcu_qsbr.h>

#include "bench/support/eal.h"
#include "bench/support/quiet_device.h"
#include "datapath/link/ip_gid.h"
#include "datapath/program/port_program.h"
#include "datapath/router/shard.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/ipv4.h"

namespace verbline::bench {

constexpr wire::MacAddress station(unsigned n) {
    return {{std::byte{2}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, static_cast<std::byte>(n)}};
}

/// Receives a burst of packets in each poll of a queue, to `flows` destinations in turn, one in each network behind a
/// gateway or all on the link. A flow is received by one queue.
class Source final : public QuietDevice {
public:
    static constexpr std::size_t burst = 32;

    Source(unsigned flows, bool by_gateway, std::uint16_t queues) : flows_(flows), by_gateway_(by_gateway) {
        for (std::uint16_t queue = 0; queue < queues; ++queue) {
            Ethernet{.destination = station(1), .source = station(9), .type = wire::ether_type::ipv4}.emit(
                std::span(queues_.emplace_back(queue).frame).first<Ethernet::size>());
        }
    }
    static wire::Ipv4Address on_link(unsigned flow) { return wire::Ipv4Address{0x0a02'0000 + 256 + flow}; }
    static wire::Ipv4Address network(unsigned flow) { return wire::Ipv4Address{0x0b00'0000 + 256 * flow}; }

    std::uint16_t rx_burst(std::uint16_t number, pmd::Burst packets) noexcept override {
        auto& queue = queues_[number];
        const auto n = std::min(packets.size(), burst);
        if (rte_pktmbuf_alloc_bulk(packet_pool(), packets.data(), static_cast<unsigned>(n)) != 0) return 0;
        for (auto* packet : packets.first(n)) {
            queue.flow += static_cast<unsigned>(queues_.size());
            if (queue.flow >= flows_) queue.flow = number % flows_;
            Ipv4{.total_length = Ipv4::size + payload,
                 .time_to_live = 64,
                 .protocol = wire::IpProtocol::udp,
                 .source = wire::ipv4(10, 1, 0, 2),
                 .destination = by_gateway_ ? network(queue.flow) : on_link(queue.flow)}
                .with_checksum()
                .emit(std::span(queue.frame).subspan<Ethernet::size, Ipv4::size>());
            std::memcpy(rte_pktmbuf_append(packet, queue.frame.size()), queue.frame.data(), queue.frame.size());
        }
        return static_cast<std::uint16_t>(n);
    }

private:
    using Ethernet = wire::Ethernet;
    using Ipv4 = wire::Ipv4;
    static constexpr std::size_t payload = 26;  ///< 64 bytes with the Ethernet header and FCS, as a generator counts

    struct alignas(64) Queue {
        explicit Queue(unsigned first) : flow(first) {}
        std::array<std::byte, Ethernet::size + Ipv4::size + payload> frame{};
        unsigned flow;
    };
    std::vector<Queue> queues_;
    unsigned flows_;
    bool by_gateway_;
};

/// Takes everything.
class Sink final : public QuietDevice {
public:
    explicit Sink(std::uint16_t queues, pmd::Carries carries = pmd::Carries::ethernet) : queues_(queues) {
        capabilities_.carries = carries;
    }

    std::uint16_t tx_burst(std::uint16_t queue, pmd::Burst packets) noexcept override {
        if (!packets.empty()) rte_pktmbuf_free_bulk(packets.data(), static_cast<unsigned>(packets.size()));
        queues_[queue].taken += packets.size();
        return static_cast<std::uint16_t>(packets.size());
    }
    std::uint16_t send(std::uint16_t queue, std::span<const pmd::Datagram> datagrams) noexcept override {
        std::array<rte_mbuf*, pmd::max_burst> payloads;
        std::ranges::transform(datagrams, payloads.begin(), &pmd::Datagram::payload);
        return tx_burst(queue, pmd::Burst(payloads).first(datagrams.size()));
    }
    /// From the thread of the queue, or when that does not run.
    std::uint64_t taken(std::uint16_t queue = 0) const { return queues_[queue].taken; }

private:
    struct alignas(64) Queue {
        std::uint64_t taken = 0;
    };
    std::vector<Queue> queues_;
};

/// The kernel has nothing to send, and gets nothing.
class RoutingGateway {
public:
    struct Setup {
        router::PortSetup::Kind kind = router::PortSetup::Kind::ethernet;  ///< of the port that transmits
        bool crcs_by_device = false;  ///< on IPoIB, with the headers in front of it, as an HCA makes them
        unsigned flows = 1;
        bool by_gateway = false;
        unsigned more_routes = 0;  ///< that no packet takes
        std::uint16_t shards = 1;
        pmd::NetDevice* source = nullptr;          ///< of as many queues as there are shards; null: a Source of its own
        const program::Object* program = nullptr;  ///< of the port that receives
        unsigned prefixes = 0;                     ///< of the program's set, which hold no source
        bool prefix_of_sources = false;            ///< and one that holds all
    };

    explicit RoutingGateway(const Setup& setup)
        : source_(setup.flows, setup.by_gateway, setup.shards),
          sink_(setup.shards, setup.crcs_by_device ? pmd::Carries::datagram : pmd::Carries::ethernet) {
        const auto size = rte_rcu_qsbr_get_memsize(setup.shards);
        readers_ = static_cast<rte_rcu_qsbr*>(rte_zmalloc(nullptr, size, RTE_CACHE_LINE_SIZE));
        rte_rcu_qsbr_init(readers_, setup.shards);
        fib_ = *forward::Fib::create({.max_routes = 8'192 + setup.more_routes, .max_long = 64}, *readers_);
        add_routes(setup);
        if (setup.program != nullptr) add_program(setup);
        for (std::uint16_t i = 0; i < setup.shards; ++i) add_shard(setup, i);
    }
    ~RoutingGateway() {
        shards_.clear();
        fib_.reset();
        rte_free(readers_);
    }
    RoutingGateway(const RoutingGateway&) = delete;
    RoutingGateway& operator=(const RoutingGateway&) = delete;

    router::Shard& shard(std::size_t number = 0) { return *shards_[number]->shard; }
    const Sink& sink() const { return sink_; }

private:
    static constexpr forward::InterfaceId in{0}, out{1};
    static constexpr ipoib::Identity us{.port = {.carrier = link::Carrier::soft_ib, .lid = wire::Lid{3}},
                                        .qpn = wire::Qpn{0x48},
                                        .qkey = wire::QKey{0xb1b}};
    struct Member {
        explicit Member(const std::string& number)
            : commands(*router::Ring<router::Command>::create("commands" + number, 64)),
              events(*router::Ring<router::Event>::create("events" + number, 64)) {}
        void command(const router::Command& one) {
            while (!commands.push(one)) shard->poll(0);
        }
        router::Ring<router::Command> commands;
        router::Ring<router::Event> events;
        std::unique_ptr<router::Shard> shard;
    };

    /// Before any shard reads them: then no change waits.
    void add_routes(const Setup& setup) {
        using forward::NextHop;
        std::ignore = fib_->replace({wire::ipv4(10, 2, 0, 0), 15}, {NextHop::Kind::on_link, out});
        for (unsigned flow = 0; setup.by_gateway && flow < setup.flows; ++flow) {
            std::ignore = fib_->replace({Source::network(flow), 24}, {NextHop::Kind::via, out, Source::on_link(flow)});
        }
        for (unsigned n = 0; n < setup.more_routes; ++n) {
            std::ignore = fib_->replace({wire::Ipv4Address{0x2000'0000 + 256 * n}, 24}, {NextHop::Kind::on_link, out});
        }
    }

    void add_program(const Setup& setup) {
        program_.emplace(std::vector<std::string>{"in", "out"}, std::uint16_t{0}, setup.shards, *readers_);
        auto loaded = program_->prepare(*setup.program, verifier_log_);
        if (!loaded) throw std::runtime_error(loaded.error().what);
        program_->publish(std::move(*loaded));
        program::PrefixTable<wire::Ipv4Address>::Prefixes prefixes;
        for (unsigned n = 0; n < setup.prefixes; ++n) prefixes[{wire::Ipv4Address{0x0a01'0100 + 256 * n}, 24}] = 1;
        if (setup.prefix_of_sources) prefixes[{wire::ipv4(10, 1, 0, 0), 24}] = 1;
        program_->set_prefixes(std::make_unique<const program::PrefixTables>(
            program::PrefixTables{program::PrefixTable<wire::Ipv4Address>(prefixes), {}}));
    }

    void add_shard(const Setup& setup, std::uint16_t number) {
        const bool to_ipoib = setup.kind == router::PortSetup::Kind::ipoib;
        auto& member = *shards_.emplace_back(std::make_unique<Member>(std::to_string(number)));
        auto* const source = setup.source != nullptr ? setup.source : &source_;
        member.shard = std::make_unique<router::Shard>(router::ShardSetup{
            .queue = number,
            .shards = setup.shards,
            .ports = {{.name = "in", .device = source, .kernel = &kernel_, .program = program_ ? &*program_ : nullptr},
                      {.name = "out", .kind = setup.kind, .device = &sink_, .kernel = &kernel_}},
            .fib = fib_.get(),
            .readers = readers_,
            .pool = pool_,
            .max_neighbours = std::max(setup.flows, forward::default_neighbours),
            .commands = &member.commands,
            .events = &member.events});
        member.command(router::SetEthernet{in, station(1)});
        if (to_ipoib) {
            member.command(router::SetIpoib{out, us});
        } else {
            member.command(router::SetEthernet{out, station(2)});
        }
        const auto to = to_ipoib
                            ? ipoib::destination(us, {.dlid = wire::Lid{4}}, wire::Qpn{0x49}, wire::ether_type::ipv4)
                            : link::ethernet_destination(station(2), station(3), wire::ether_type::ipv4);
        for (unsigned flow = 0; flow < setup.flows; ++flow) {
            member.command(router::SetNeighbour{out, link::gid_of(Source::on_link(flow)), to});
        }
    }

    rte_mempool* pool_ = packet_pool();  // starts DPDK, before the rings
    QuietDevice kernel_;                 ///< the kernel's end of both ports
    Source source_;
    Sink sink_;
    rte_rcu_qsbr* readers_ = nullptr;
    std::unique_ptr<forward::Fib> fib_;
    program::VerifierLog verifier_log_;
    std::optional<program::PortProgram> program_;
    std::vector<std::unique_ptr<Member>> shards_;
};

}  // namespace verbline::bench
