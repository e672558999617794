// SPDX-License-Identifier: BSD-3-Clause
#include "tests/apps/libibverbs/port/joined_programs.h"

#include <algorithm>
#include <stdexcept>

#include <rte_mbuf.h>
#include <unistd.h>

#include "apps/libibverbs/port/packet_pool.h"
#include "datapath/link/ip_gid.h"
#include "pmd/allocate.h"
#include "pmd/append.h"
#include "pmd/impair/impair.h"
#include "tests/support/counter.h"
#include "tests/support/eal.h"

namespace verbline::verbs::test {
namespace {

// As `verbline hub` and its clients have them.
constexpr unsigned hub_packets = 4095, hub_cache = 128, lane_log2_ring = 9;
constexpr std::uint32_t lane_slot = 4352;
constexpr std::uint16_t mtu = 4200;

constexpr Time poll_time = microsecond;
constexpr unsigned longest_slice = 400;  ///< polls

Pool make_pool(const char* name, unsigned packets, unsigned cache) {
    Pool pool(rte_pktmbuf_pool_create(name, packets, cache, 0, RTE_PKTMBUF_HEADROOM + packet_room, SOCKET_ID_ANY));
    if (pool == nullptr) throw std::runtime_error(rte_strerror(rte_errno));
    return pool;
}

template <class T>
T must(Result<T> result) {
    if (!result) throw std::runtime_error(result.error().what);
    if constexpr (!std::is_void_v<T>) return std::move(*result);
}

wire::MacAddress mac_of(unsigned program) {
    return {{std::byte{2}, {}, {}, {}, {}, static_cast<std::byte>(program + 1)}};
}
wire::Lid lid_of(unsigned program) {
    return wire::Lid{static_cast<std::uint16_t>(program + 1)};
}

/// One end of a cable between two interfaces: what arrives lies in the socket's ring, of 4 MiB, and is copied from
/// there when it is read; what finds the ring full is lost.
class CableEnd : public pmd::NetDevice {
public:
    CableEnd(std::deque<rte_mbuf*>& in, std::deque<rte_mbuf*>& out, rte_mempool* pool)
        : in_(in), out_(out), pool_(pool) {
        capabilities_.max_packet = mtu + 14;
    }
    std::string_view name() const override { return "eth"; }
    const pmd::Capabilities& capabilities() const override { return capabilities_; }
    Result<void> up() override { return {}; }
    void down() override {}
    bool link_up() override { return true; }
    std::uint16_t rx_burst(std::uint16_t, pmd::Burst burst) noexcept override {
        const auto n = pmd::allocate(*pool_, burst.first(std::min(burst.size(), in_.size())));
        for (auto* packet : burst.first(n)) {
            auto* tail = packet;
            const auto* const frame = in_.front();
            pmd::append(*packet, tail, {rte_pktmbuf_mtod(frame, const std::byte*), frame->data_len}, pool_);
            rte_pktmbuf_free(in_.front());
            in_.pop_front();
        }
        return static_cast<std::uint16_t>(n);
    }
    std::uint16_t tx_burst(std::uint16_t, pmd::Burst burst) noexcept override {
        constexpr std::size_t slots = (4 << 20) / 4352;
        // What is on the cable is the kernel's memory, not the sender's.
        for (auto* frame : burst) {
            auto* const copy = out_.size() < slots ? rte_pktmbuf_copy(frame, pool_of_cable, 0, UINT32_MAX) : nullptr;
            if (copy != nullptr) out_.push_back(copy);
            rte_pktmbuf_free(frame);
        }
        return static_cast<std::uint16_t>(burst.size());
    }
    rte_mempool* pool_of_cable = nullptr;

private:
    std::deque<rte_mbuf*>&in_, &out_;
    rte_mempool* pool_;
    pmd::Capabilities capabilities_;
};

std::string unique_name() {
    static unsigned made = 0;
    return "program" + std::to_string(made++);
}

}  // namespace

void FreePool::operator()(rte_mempool* pool) const {
    rte_mempool_free(pool);
}

Pools::Pools()
    : programs{make_pool("program-a", packet_count, packet_cache), make_pool("program-b", packet_count, packet_cache)},
      hub(make_pool("hub", hub_packets, hub_cache)) {}

bool Pools::full() const {
    return rte_mempool_full(programs[0].get()) == 1 && rte_mempool_full(programs[1].get()) == 1 &&
           rte_mempool_full(hub.get()) == 1;
}

JoinedPrograms::JoinedPrograms(Pools& pools, const Setup& setup) : pools_(pools), setup_(setup), random_(setup.seed) {
    std::string name = "/tmp/verbline-joined-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no directory for sockets");
    directory_ = name;
    if (setup.link == LinkKind::hub || setup.link == LinkKind::fabric) {
        switch_ = std::make_unique<pmd::Switch>(pmd::Switch::Options{.pool = pools.hub.get(), .waiting = 2560});
    }
    for (unsigned program : {0u, 1u}) make_device(program, pools.programs[program].get());
    for (bool up = false; !up;) {
        if (switch_ != nullptr) switch_->upkeep(now_, pmd::Switch::Links::all);
        const std::array each{links_[0]->link_up(), links_[1]->link_up()};  // both calls connect
        up = each[0] && each[1] && std::ranges::all_of(ports_, [this](auto port) { return switch_->link_up(port); });
    }
}

JoinedPrograms::~JoinedPrograms() {
    devices_ = {};
    links_ = {};
    switch_.reset();
    for (auto& cable : cable_) {
        for (auto* frame : cable) rte_pktmbuf_free(frame);
    }
    std::filesystem::remove_all(directory_);
}

std::unique_ptr<pmd::NetDevice> JoinedPrograms::open_memif(const std::string& socket, unsigned program,
                                                           rte_mempool* pool) {
    auto device = must(pmd::Memif::create({.path = socket,
                                           .server = program == 0 && switch_ == nullptr,
                                           .log2_ring_size = lane_log2_ring,
                                           .buffer_size = lane_slot,
                                           .mtu = mtu},
                                          pool));
    must(device->up());
    return device;
}

std::unique_ptr<pmd::NetDevice> JoinedPrograms::open_link(unsigned program, rte_mempool* pool) {
    if (setup_.link == LinkKind::eth) {
        auto interface = std::make_unique<CableEnd>(cable_[program], cable_[1 - program], pool);
        interface->pool_of_cable = pools_.hub.get();
        return interface;
    }
    if (switch_ == nullptr) return open_memif(directory_ / "pair", program, pool);
    const std::string socket = directory_ / ("lane" + std::to_string(program));
    auto lane = must(
        pmd::Memif::create({.path = socket, .server = true, .buffer_size = lane_slot, .mtu = mtu}, pools_.hub.get()));
    must(lane->up());
    const auto mac = setup_.link == LinkKind::fabric ? link::soft_ib::mac_of(lid_of(program)) : mac_of(program);
    ports_.push_back(switch_->add_lane(std::move(lane), mac));
    return open_memif(socket, program, pool);
}

void JoinedPrograms::make_device(unsigned program, rte_mempool* pool) {
    const bool ib = setup_.link == LinkKind::fabric;
    pmd::ImpairSpec spec{.seed = setup_.seed * 2 + program};
    spec.rx.loss = setup_.loss;
    links_[program] = std::make_unique<pmd::ImpairedDevice>(open_link(program, pool), spec, [this] { return now_; });
    devices_[program] = must(rdma::Device::create({.name = unique_name(),
                                                   .device = links_[program].get(),
                                                   .pool = pool,
                                                   .kind = ib ? link::GidTable::Kind::ib : link::GidTable::Kind::roce,
                                                   .mac = mac_of(program),
                                                   .lid = lid_of(program),
                                                   .max_queue_pairs = 128}));
    devices_[program]->change_gids([&](link::GidTable& gids) {
        gids.add_interface(1, mac_of(program));
        gids.add_address(1, ib ? wire::Gid::of(wire::default_subnet_prefix, wire::Guid{program + 1})
                               : link::gid_of(wire::ipv4(10, 0, 0, static_cast<std::uint8_t>(program + 1))));
    });
}

rdma::Path JoinedPrograms::path_to(unsigned program) const {
    if (setup_.link == LinkKind::fabric) return {.gid_index = 0, .address = {.dlid = lid_of(program)}, .mac = {}};
    return {.gid_index = 3,
            .address = {.global = true, .dgid = devices_[program]->gids().at(3)->gid, .hop_limit = 64},
            .mac = mac_of(program)};
}

template <class Poll>
bool JoinedPrograms::slice(Poll poll) {
    bool busy = false;
    for (auto polls = 1 + random_() % longest_slice; polls > 0; --polls) {
        now_ += poll_time;
        if (!poll()) break;
        busy = true;
    }
    return busy;
}

void JoinedPrograms::round() {
    bool busy = slice([this] { return devices_[0]->poll(0, now_); });
    if (switch_ != nullptr) busy |= slice([this] { return switch_->poll(); });
    busy |= slice([this] { return devices_[1]->poll(0, now_); });
    if (switch_ != nullptr) busy |= slice([this] { return switch_->poll(); });
    if (busy) return;
    std::optional<Time> next;
    for (auto& device : devices_) {
        const auto due = device->next_deadline(0);
        if (due && (!next || *due < *next)) next = due;
    }
    if (next) now_ = std::max(now_, *next);
}

std::uint64_t JoinedPrograms::dropped_by_hub() const {
    std::uint64_t dropped = 0;
    for (const auto port : ports_) dropped += switch_->counters(port).tx_dropped_full.value();
    return dropped;
}

}  // namespace verbline::verbs::test
