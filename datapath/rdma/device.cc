// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/rdma/device.h"

#include <algorithm>
#include <cerrno>
#include <deque>
#include <tuple>
#include <utility>

#include <rte_mbuf.h>

#include "datapath/link/soft_ib.h"
#include "datapath/memory/guarded.h"
#include "datapath/rdma/queue_pair.h"
#include "datapath/rdma/xrc_table.h"

namespace verbline::rdma {
namespace {

std::uint32_t largest_mtu(std::uint32_t room) {
    for (std::uint32_t mtu = 4096; mtu >= 256; mtu /= 2) {
        if (mtu + frame_overhead <= room) return mtu;
    }
    return 0;
}

}  // namespace

Device::Device(const DeviceOptions& options) : options_(options), gids_(options.kind) {}

Device::~Device() = default;

Result<std::unique_ptr<Device>> Device::create(const DeviceOptions& options) {
    if (options.device == nullptr || options.pool == nullptr || options.queues.empty()) {
        return failure(EINVAL, "an RDMA device needs a network device, a mempool and at least one queue");
    }
    if (options.device->capabilities().carries != pmd::Carries::ethernet) {
        return failure(EOPNOTSUPP, std::string(options.device->name()) + " does not carry Ethernet frames");
    }
    if (options.member && (options.queues.size() != 1 || options.max_queue_pairs > link::member_queue_pairs)) {
        return failure(EINVAL, "a member of a node has one queue, and no more queue pairs than its numbers");
    }
    if (!memory::install_fault_guard()) return failure(errno, "cannot handle SIGSEGV, which guards registered memory");
    std::unique_ptr<Device> device(new Device(options));
    auto room = static_cast<std::uint32_t>(rte_pktmbuf_data_room_size(options.pool) - RTE_PKTMBUF_HEADROOM);
    device->max_mtu_ = largest_mtu(std::min(room, options.device->capabilities().max_packet + 4));
    if (device->max_mtu_ == 0)
        return failure(EINVAL, "frames are too small for any path MTU: give the mempool more room");
    if (auto made = device->make_engines(); !made) return std::unexpected(made.error());
    return device;
}

Result<void> Device::make_engines() {
    if (options_.kind == link::GidTable::Kind::ib) options_.mac = link::soft_ib::mac_of(options_.lid);
    std::vector<Engine*> engines;
    engines.reserve(options_.queues.size());
    // The other half stays for receive and transmit rings and the bursts being processed.
    const auto kept_by_all = options_.pool->size / 2;
    const auto kept = std::min(options_.max_kept_packets, kept_by_all / static_cast<unsigned>(options_.queues.size()));
    for (unsigned shard = 0; shard < options_.queues.size(); ++shard) {
        auto engine = Engine::create({.name = options_.name + "." + std::to_string(shard),
                                      .shard = shard,
                                      .shards = static_cast<unsigned>(options_.queues.size()),
                                      .device = options_.device,
                                      .queue = options_.queues[shard],
                                      .pool = options_.pool,
                                      .keys = &keys_,
                                      .dcqcn = &options_.dcqcn,
                                      .on_event = options_.on_event,
                                      .max_queue_pairs = options_.max_queue_pairs,
                                      .max_kept_packets = kept,
                                      .first_slot = options_.first_slot,
                                      .member = options_.member,
                                      .start = options_.start});
        if (!engine) return std::unexpected(engine.error());
        (*engine)->set_address(options_.mac);
        engines.push_back(engine->get());
        engines_.push_back(std::move(*engine));
        xrc_.push_back(std::make_unique<XrcTable>());
    }
    for (auto* const engine : engines) {
        if (auto connected = engine->connect(engines); !connected) return connected;
    }
    return {};
}

void Device::set_lid(wire::Lid lid) {
    const std::scoped_lock lock(mutex_);
    options_.lid = lid;
    options_.mac = link::soft_ib::mac_of(lid);
    for (auto& engine : engines_) {
        const QuiescentGate::Hold hold(engine->gate());
        engine->set_lid(lid);
    }
}

void Device::set_pkeys(std::vector<wire::PKey> pkeys) {
    const std::scoped_lock lock(mutex_);
    options_.pkeys = std::move(pkeys);
    for (auto& engine : engines_) {
        const QuiescentGate::Hold hold(engine->gate());
        engine->set_pkeys(options_.pkeys);
    }
}

bool Device::check_link() {
    const bool up = options_.device->link_up();
    if (up != std::exchange(link_up_, up)) {
        emit({.kind = up ? transport::AsyncEventKind::port_active : transport::AsyncEventKind::port_error});
    }
    return up;
}

memory::PdId Device::allocate_pd() {
    const std::scoped_lock lock(mutex_);
    return memory::PdId{next_pd_++};
}

Result<MemoryRegion> Device::register_memory(memory::PdId pd, std::span<std::byte> bytes, std::uint64_t iova,
                                             memory::Access rights) {
    if (memory::has(rights, memory::Access::flush_persistent)) {
        return failure(EOPNOTSUPP, "memory of this device is not persistent");
    }
    const std::scoped_lock lock(mutex_);
    const auto key =
        keys_.add_region({.pd = pd, .base = bytes.data(), .length = bytes.size(), .iova = iova, .rights = rights});
    if (!key) return std::unexpected(key.error());
    return MemoryRegion(*this, *key);
}

Result<MemoryWindow> Device::allocate_window(memory::PdId pd, memory::WindowType type) {
    const std::scoped_lock lock(mutex_);
    const auto key = keys_.add_window(pd, type);
    if (!key) return std::unexpected(key.error());
    return MemoryWindow(*this, *key);
}

template <class Remove>
Result<void> Device::with_grace(Remove&& remove) {
    std::uint64_t retired = 0;
    {
        const std::scoped_lock lock(mutex_);
        if (auto removed = remove(); !removed) return removed;
        retired = keys_.retired();
    }
    for (auto& engine : engines_) engine->gate().pass();
    const std::scoped_lock lock(mutex_);
    keys_.reclaim(retired);
    return {};
}

Result<void> Device::change_region(wire::RKey key, const memory::RegionAttributes& attributes) {
    return with_grace([&] { return keys_.change_region(key, attributes); });
}

Result<void> Device::remove_key(wire::RKey key) {
    return with_grace([&] { return keys_.remove(key); });
}

Result<void> Device::revoke_key(wire::RKey key) {
    return with_grace([&] { return keys_.revoke(key); });
}

std::unique_ptr<transport::CompletionQueue> Device::create_cq(std::uint32_t entries, std::function<void()> on_event) {
    return std::make_unique<transport::CompletionQueue>(entries, shards(), std::move(on_event));
}

Result<void> Device::resize_cq(transport::CompletionQueue& queue, std::uint32_t entries) {
    const std::scoped_lock lock(mutex_);
    std::deque<QuiescentGate::Hold> holds;
    for (auto& engine : engines_) holds.emplace_back(engine->gate());
    if (!queue.resize(entries)) return failure(EINVAL, "more completions wait than the queue is to hold");
    return {};
}

XrcDomain Device::create_xrc_domain() {
    const std::scoped_lock lock(mutex_);
    return XrcDomain(next_domain_++);
}

Result<std::unique_ptr<SharedReceiveQueue>> Device::create_shared_receive_queue(
    memory::PdId pd, const transport::ReceiveQueue::Limits& limits, const XrcDomain* domain,
    transport::CompletionQueue* completions) {
    if (domain != nullptr && completions == nullptr) {
        return failure(EINVAL, "an XRC shared receive queue needs a completion queue");
    }
    const std::scoped_lock lock(mutex_);
    if (domain != nullptr) {
        const auto used = [this](std::uint32_t number) {
            return std::ranges::any_of(xrc_, [number](const auto& table) { return table->contains(number); });
        };
        const auto number = next_srq_number(last_srq_, used, options_.member);
        if (!number) return failure(ENOMEM, "all numbers of XRC shared receive queues are in use");
        last_srq_ = *number;
    }
    const unsigned shard = domain != nullptr ? domain->id() % shards() : next_shard_++ % shards();
    auto queue = std::make_unique<SharedReceiveQueue>(*this, shard, limits);
    queue->queue_.pd = pd;
    queue->queue_.completions = completions;
    if (domain != nullptr) {
        queue->queue_.xrc_domain = domain->id();
        queue->queue_.number = last_srq_;
        const QuiescentGate::Hold hold(engines_[shard]->gate());
        xrc_[shard]->add(queue->queue_);
    }
    return queue;
}

SharedReceiveQueue::~SharedReceiveQueue() {
    if (queue_.xrc_domain == 0) return;
    const std::scoped_lock lock(device_.mutex_);
    const QuiescentGate::Hold hold(device_.engines_[shard_]->gate());
    device_.xrc_[shard_]->remove(queue_);
}

Device::OwnedPair::~OwnedPair() {
    const std::scoped_lock lock(owner.mutex_);
    const QuiescentGate::Hold hold(engine.gate());
    engine.remove(pair);
    if (pair.type() == transport::QueuePairType::xrc_target) owner.xrc_[engine.shard()]->remove(pair);
    owner.keys_.unbind_all(pair.qpn());
}

Result<std::unique_ptr<QueuePair>> Device::create_queue_pair(const QueuePairOptions& options) {
    using enum transport::QueuePairType;
    const bool sends = options.type != xrc_target;
    const bool receives = options.type != xrc_initiator && options.type != xrc_target;
    if ((sends && options.send_completions == nullptr) || (receives && options.receive_completions == nullptr)) {
        return failure(EINVAL, "a queue pair needs a completion queue for each of its queues");
    }
    if (options.type == xrc_target && options.xrc_domain == nullptr) {
        return failure(EINVAL, "an XRC target needs an XRC domain");
    }
    const std::scoped_lock lock(mutex_);
    const auto qpn = choose_qpn(options);
    if (!qpn) return std::unexpected(qpn.error());
    const auto shard = shard_of(*qpn);
    auto& engine = *engines_[shard];
    const QuiescentGate::Hold hold(engine.gate());
    const transport::TransportQueuePair::Setup setup{
        .type = options.type,
        .qpn = *qpn,
        .pd = options.pd,
        .send = options.send,
        .receive = options.receive,
        .shared = options.shared != nullptr ? options.shared->id() : nullptr,
        .send_completions = options.send_completions,
        .receive_completions = options.receive_completions,
        .signal_all = options.signal_all,
        .xrc_domain = options.xrc_domain != nullptr ? options.xrc_domain->id() : 0,
        .xrc_queues = xrc_[shard].get()};
    std::unique_ptr<QueuePair> pair;
    if (options.type == xrc_target) {
        auto shared = std::make_shared<OwnedPair>(*this, engine, setup);
        xrc_targets_[*qpn] = shared;
        xrc_[shard]->add(shared->pair);
        pair.reset(new QueuePair(std::move(shared)));
    } else {
        pair.reset(new QueuePair(*this, engine, setup));
    }
    engine.add(pair->pair());
    return pair;
}

Result<std::unique_ptr<QueuePair>> Device::open_xrc_target(const XrcDomain& domain, wire::Qpn qpn) {
    std::shared_ptr<OwnedPair> owned;
    {
        const std::scoped_lock lock(mutex_);
        std::erase_if(xrc_targets_, [](const auto& target) { return target.second.expired(); });
        const auto found = xrc_targets_.find(qpn);
        if (found != xrc_targets_.end()) owned = found->second.lock();
    }
    if (owned == nullptr || owned->pair.context().xrc_domain != domain.id()) {
        return failure(EINVAL, "there is no XRC target of this number in the domain");
    }
    return std::unique_ptr<QueuePair>(new QueuePair(std::move(owned)));
}

std::optional<unsigned> Device::gid_index(const wire::Gid& gid, link::GidType type) const {
    const auto found = gids_.find(gid, type, std::nullopt);
    return found ? std::optional(static_cast<unsigned>(*found)) : std::nullopt;
}

Result<link::Envelope> Device::envelope(const Path& path, wire::Qpn local, wire::Qpn remote) const {
    const std::scoped_lock lock(mutex_);
    return envelope_locked(path, local, remote);
}

Result<link::Envelope> Device::envelope_locked(const Path& path, wire::Qpn local, wire::Qpn remote) const {
    const auto gid = gids_.at(path.gid_index);
    if (!gid) return failure(EINVAL, "GID index " + std::to_string(path.gid_index) + " is empty");
    if (options_.kind == link::GidTable::Kind::roce && !path.address.global) {
        return failure(EINVAL, "RoCE paths are global: give the peer's GID");
    }
    const link::SourceAddress from{.carrier = link::carrier_of(*gid),
                                   .mac = options_.mac,
                                   .vlan = gid->vlan,
                                   .ecn = options_.ecn,
                                   .gid = gid->gid,
                                   .lid = options_.lid};
    return link::make_envelope(from, path.address, path.mac,
                               link::udp_source_port(path.address.flow_label, local, remote));
}

void Device::counters(const CounterVisitor& visit) const {
    struct Shard {
        const Engine* engine;
        void each(const CounterVisitor& each) const { engine->visit_counters(each); }
    };
    visit_sums(engines_, visit, [](const auto& engine) { return Shard{engine.get()}; });
}

KeyHandle& KeyHandle::operator=(KeyHandle&& other) noexcept {
    if (this == &other) return *this;
    revoke();
    device_ = std::exchange(other.device_, nullptr);
    key_ = other.key_;
    return *this;
}

void KeyHandle::revoke() noexcept {
    if (device_ != nullptr) std::ignore = std::exchange(device_, nullptr)->revoke_key(key_);
}

Result<void> KeyHandle::release() {
    if (device_ == nullptr) return {};
    auto removed = device_->remove_key(key_);
    if (removed) device_ = nullptr;
    return removed;
}

Result<void> MemoryRegion::change(const memory::RegionAttributes& attributes) {
    return device_->change_region(key_, attributes);
}

}  // namespace verbline::rdma
