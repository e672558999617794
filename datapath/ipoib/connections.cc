// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/ipoib/connections.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "datapath/offload/packet.h"

namespace verbline::ipoib {
namespace {

/// QPNs below are for the UD queue pairs of interfaces (interface.h, first_qpn).
constexpr std::uint32_t first_connected_qpn = 0x100;
constexpr std::uint32_t queue_pairs = 4096;  // of which few are in use: a number is not used again soon
constexpr std::uint32_t almost_full = Connections::send_requests - 8;

/// From the first byte of the pools to the last: their memory is in pieces.
std::span<std::byte> span_of(std::initializer_list<rte_mempool*> pools) {
    struct Bounds {
        std::byte *first = nullptr, *end = nullptr;
    } bounds;
    const auto widen = [](rte_mempool*, void* opaque, rte_mempool_memhdr* memory, unsigned) {
        auto& all = *static_cast<Bounds*>(opaque);
        auto* const first = static_cast<std::byte*>(memory->addr);
        if (all.first == nullptr || first < all.first) all.first = first;
        all.end = std::max(all.end, first + memory->len);
    };
    for (auto* pool : pools) rte_mempool_mem_iter(pool, widen, &bounds);
    return {bounds.first, bounds.end};
}

}  // namespace

Connections::Connections(const Setup& setup)
    : others_(*setup.device, setup.queue), datagram_mtu_(setup.datagram_mtu), connections_(max_connections) {
    active_.reserve(max_connections);
}

Result<std::unique_ptr<Connections>> Connections::create(const Setup& setup) {
    std::unique_ptr<Connections> made(new Connections(setup));
    if (auto good = made->make(setup); !good) return std::unexpected(good.error());
    return made;
}

Result<void> Connections::make(const Setup& setup) {
    auto large = LargeReceives::make_pool((setup.name + ".large").c_str(), setup.socket);
    if (!large) return std::unexpected(large.error());
    large_ = std::move(*large);
    auto device = rdma::Device::create({.name = setup.name,
                                        .device = &others_,
                                        .pool = setup.pool,
                                        .kind = link::GidTable::Kind::ib,
                                        .max_queue_pairs = queue_pairs,
                                        .first_slot = first_connected_qpn,
                                        .start = setup.start});
    if (!device) return std::unexpected(device.error());
    device_ = std::move(*device);
    pd_ = device_->allocate_pd();
    memory_ = span_of({setup.pool, large_.get()});
    auto region = device_->register_memory(pd_, memory_, memory::Access::local_write);
    if (!region) return std::unexpected(region.error());
    region_.emplace(std::move(*region));
    // Requests complete without a completion, but when they fail.
    send_completions_ = device_->create_cq(send_requests * max_connections);
    auto receives = LargeReceives::create(*device_, pd_, *large_, region_->lkey());
    if (!receives) return std::unexpected(receives.error());
    receives_ = std::move(*receives);
    return {};
}

/// No queue pair of a connection is left, and no thread polls.
Connections::~Connections() {
    for (auto& connection : connections_) release(connection);
}

Result<std::unique_ptr<rdma::QueuePair>> Connections::make_pair(const rdma::QueuePairOptions& options) {
    for (;;) {
        auto pair = device_->create_queue_pair(options);
        if (!pair || static_cast<std::uint32_t>((*pair)->qpn()) >= first_connected_qpn) return pair;
        kept_back_.push_back(std::move(*pair));
    }
}

Result<std::unique_ptr<rdma::QueuePair>> Connections::make_sender() {
    return make_pair({.type = transport::QueuePairType::rc,
                      .pd = pd_,
                      .send_completions = send_completions_.get(),
                      .receive_completions = &receives_->completions(),
                      .send = {.requests = send_requests, .segments = send_segments},
                      .shared = &receives_->queue()});
}

Result<std::unique_ptr<rdma::QueuePair>> Connections::make_receiver() {
    return make_pair({.type = transport::QueuePairType::rc,
                      .pd = pd_,
                      .send_completions = send_completions_.get(),
                      .receive_completions = &receives_->completions(),
                      .send = {.requests = 1, .segments = 1},
                      .shared = &receives_->queue()});
}

std::optional<ConnectionNumber> Connections::open(rdma::QueuePair& pair, std::uint32_t mtu) {
    const auto found = std::ranges::find_if(
        connections_, [](const auto& each) { return each.state.load(std::memory_order_acquire) == State::unused; });
    if (found == connections_.end()) return std::nullopt;
    found->pair = &pair;
    found->mtu = mtu;
    found->sent_before = found->sent.value();
    found->begin = pair.mark();
    found->posted = found->retired = 0;
    found->state.store(State::open, std::memory_order_release);
    return static_cast<ConnectionNumber>(found - connections_.begin() + 1);
}

bool Connections::closed(ConnectionNumber number) {
    auto& connection = at(number);
    if (connection.state.load(std::memory_order_acquire) != State::closed) return false;
    connection.state.store(State::unused, std::memory_order_release);
    return true;
}

void Connections::put(rte_mbuf* frame) noexcept {
    if (others_.put(frame)) return;
    counters_.rx_dropped_other_queue_pairs.add();
    rte_pktmbuf_free(frame);
}

void Connections::send(pmd::Burst packets, std::span<const link::Destination*> to) noexcept {
    for (std::size_t i = 0; i < packets.size(); ++i) {
        if (auto* const reason = post(packets[i], to[i]->connection)) {
            reason->add();
            rte_pktmbuf_free(packets[i]);
        }
    }
}

/// Returns the reason to drop the packet, which is still the caller's then, or null. The packet may have been replaced.
Counter* Connections::post(rte_mbuf*& packet, ConnectionNumber number) noexcept {
    auto& connection = at(number);
    if (connection.state.load(std::memory_order_acquire) != State::open) return &counters_.tx_dropped_connection_lost;
    const auto waiting = connection.posted - connection.retired;
    full_ |= waiting >= almost_full;
    if (waiting == send_requests) return &counters_.tx_dropped_connection_full;
    if (packet->nb_segs > send_segments) {
        auto* const joined = copy(packet);
        if (joined == nullptr) return &counters_.tx_dropped_connected_memory;
        packet = joined;
    }
    std::array<transport::Segment, send_segments> segments;
    if (!gather(*packet, segments)) return &counters_.tx_dropped_connected_memory;
    const auto posted = connection.pair->stage(
        {.segments = std::span(segments).first(packet->nb_segs), .operation = transport::SendOperation::send});
    if (!posted) return &counters_.tx_dropped_connection_full;
    counters_.tx_connected_packets.add();
    counters_.tx_connected_bytes.add(packet->pkt_len);
    connection.sent.add();
    connection.under_way[connection.posted++ % send_requests] = packet;
    if (waiting == 0 && !connection.touched) active_.push_back(number);
    connection.touched = true;
    return nullptr;
}

/// The pieces of a packet as registered memory. False: it is not all ours.
bool Connections::gather(const rte_mbuf& packet, std::span<transport::Segment> out) const noexcept {
    std::size_t i = 0;
    for (const auto* piece = &packet; piece != nullptr; piece = piece->next) {
        const auto* const first = rte_pktmbuf_mtod(piece, const std::byte*);
        if (first < memory_.data() || first + piece->data_len > memory_.data() + memory_.size()) return false;
        out[i++] = {reinterpret_cast<std::uint64_t>(first), piece->data_len, region_->lkey()};
    }
    return true;
}

/// Into large buffers; the packet is freed, unless there are none: null.
rte_mbuf* Connections::copy(rte_mbuf* packet) noexcept {
    std::array<rte_mbuf*, LargeReceives::buffers_of_message> chain;
    const auto n = (packet->pkt_len + LargeReceives::buffer - 1) / LargeReceives::buffer;
    if (n > chain.size() || rte_pktmbuf_alloc_bulk(large_.get(), chain.data(), n) != 0) return nullptr;
    offload::ChainReader reader(*packet, 0);
    for (unsigned i = 0; i < n; ++i) {
        auto& to = *chain[i];
        while (to.data_len < LargeReceives::buffer) {
            const auto piece = reader.next(LargeReceives::buffer - to.data_len);
            if (piece.empty()) break;
            std::memcpy(rte_pktmbuf_mtod_offset(&to, std::byte*, to.data_len), piece.data(), piece.size());
            to.data_len = static_cast<std::uint16_t>(to.data_len + piece.size());
        }
        to.next = i + 1 < n ? chain[i + 1] : nullptr;
    }
    chain[0]->pkt_len = packet->pkt_len;
    chain[0]->nb_segs = static_cast<std::uint16_t>(n);
    rte_pktmbuf_free(packet);
    counters_.tx_connected_copied.add();
    return chain[0];
}

bool Connections::poll(Time now) noexcept {
    now_ = now;
    for (const auto number : active_) {
        auto& connection = at(number);
        if (!std::exchange(connection.touched, false)) continue;
        connection.pair->publish();
        connection.pair->ring();
    }
    const bool busy = device_->poll(0, now);
    if (!active_.empty()) {
        full_ = false;
        std::erase_if(active_, [this](const auto number) { return !retire(at(number)); });
        discard_completions();
    }
    return busy;
}

/// Frees what has been acknowledged. Returns whether more is under way.
bool Connections::retire(Connection& connection) noexcept {
    if (connection.state.load(std::memory_order_relaxed) == State::closed) return false;
    const auto before = connection.retired;
    while (connection.retired != connection.posted &&
           connection.pair->through(connection.begin + connection.retired + 1)) {
        rte_pktmbuf_free(std::exchange(connection.under_way[connection.retired++ % send_requests], nullptr));
    }
    if (connection.retired != before) progress_ = now_;
    if (connection.pair->state() == transport::QueuePairState::error) {
        auto expected = State::open;
        connection.state.compare_exchange_strong(expected, State::failed, std::memory_order_acq_rel);
    }
    const auto waiting = connection.posted - connection.retired;
    full_ |= waiting >= almost_full;
    return waiting != 0;
}

/// By command of the control thread, which destroys the queue pair next.
void Connections::close(ConnectionNumber number) noexcept {
    auto& connection = at(number);
    std::erase(active_, number);
    if (connection.touched) connection.pair->withdraw();
    connection.touched = false;
    release(connection);  // the queue pair is in the error state and reads nothing more
    connection.state.store(State::closed, std::memory_order_release);
}

void Connections::release(Connection& connection) noexcept {
    while (connection.retired != connection.posted) {
        rte_pktmbuf_free(std::exchange(connection.under_way[connection.retired++ % send_requests], nullptr));
    }
}

/// Those of failed requests, of which the state of their queue pair tells.
void Connections::discard_completions() noexcept {
    std::array<transport::Completion, pmd::max_burst> failed;
    while (send_completions_->poll(failed) == failed.size()) {}
}

void Connections::counters(const CounterVisitor& visit) const {
    counters_.each(visit);
    receives_->counters().each(visit);
    device_->counters([&](std::string_view name, std::uint64_t value, std::string_view help) {
        visit("rc_" + std::string(name), value, help);
    });
}

}  // namespace verbline::ipoib
