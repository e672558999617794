// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// An RDMA device in user space: the entry point for programs that link the library and own their threads.
///
///     auto device = rdma::Device::create(options);               one port, one or more shards
///     auto pd     = device->allocate_pd();
///     auto region = device->register_memory(pd, bytes, iova, access);
///     auto cq     = device->create_cq(256);
///     auto pair   = device->create_queue_pair({...});
///     (*pair)->init(...), ready_to_receive(...), ready_to_send(...)
///     for (;;) { device->poll(0, monotonic_now()); cq->poll(completions); ... }
///
/// apps/rdma_ping is a whole program.
///
/// Threads. Each shard is polled by one thread at a time (`poll`), and several by as many: on lcores of their own, as
/// apps/rdma_ping has them, over a device with a queue for each. A packet that arrives at another shard than its queue
/// pair's is handed over by a ring; `peer` and `flow_label_for` avoid that. A shard that is not polled stops no other;
/// what arrives there for it is lost once its rings are full, and sent again by the peer as any lost packet. No event
/// tells that something was handed over: of several shards each has to be polled. Everything else may be called from
/// any thread, but
/// not from inside a poll (event handlers). Creating, changing and destroying objects takes a mutex and holds the shard
/// concerned between two polls, for microseconds. Posting and polling completions do neither: one thread at a time per
/// queue.
///
/// Ownership. The caller owns what `create_...` returns and destroys it before the objects it was created from: queue
/// pairs before their completion queues, shared receive queues and XRC domains; all before the device. An XRC shared
/// receive queue may be destroyed at any time: a message in progress to it is refused with a NAK at its next packet.
/// The network device and the mempool must outlive the device.
///
/// Errors are returned as `Result`: the errno value that the verbs would give, and a one-line message.

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "datapath/link/gid_table.h"
#include "datapath/link/member.h"
#include "datapath/memory/key_table.h"
#include "datapath/rdma/address.h"
#include "datapath/rdma/engine.h"
#include "datapath/rdma/memory_region.h"
#include "datapath/rdma/shared_receive_queue.h"
#include "datapath/transport/queue_pair.h"
#include "pmd/base/tunables.h"

namespace verbline::rdma {

class QueuePair;
class XrcTable;

/// Headers and trailers around the payload of the largest packet: Ethernet with VLAN, IPv6 or GRH, UDP or LRH, BTH,
/// XRCETH, the longest extension header, ICRC. Linux (iboe_get_mtu) counts the same.
constexpr std::uint32_t frame_overhead = 18 + 40 + 8 + 12 + 4 + 28 + 4;

struct DeviceOptions {
    std::string name = "verbline0";           ///< unique in the process, at most 16 characters
    pmd::NetDevice* device = nullptr;         ///< Carries::ethernet
    std::vector<std::uint16_t> queues = {0};  ///< receive and transmit queues of `device`, one per shard
    /// Also the pool that the network device receives into. Data room must fit the largest frame: path MTU plus 128
    /// bytes.
    rte_mempool* pool = nullptr;
    link::GidTable::Kind kind = link::GidTable::Kind::roce;
    wire::MacAddress mac;  ///< our address; on the soft fabric it is derived from the LID
    wire::Lid lid{};       ///< soft fabric
    /// Soft fabric: the port's P_Key table, in which queue pairs have an index. Empty: each has the P_Key that it is
    /// given.
    std::vector<wire::PKey> pkeys{};
    bool ecn = true;  ///< RoCE v2: ECN-capable, so that routers mark instead of drop
    congestion::DcqcnParameters dcqcn{};
    transport::AsyncEventHandler on_event{};                  ///< asynchronous events: see transport::AsyncEventHandler
    std::uint32_t max_queue_pairs = 1 << 17;                  ///< per shard, including QP1
    std::uint32_t max_kept_packets = tunables::kept_packets;  ///< per shard; in total at most half of `pool`
    std::uint32_t first_slot = 0;  ///< QPN slots begin behind it: distinct for devices that share an address and a link
    /// One of several processes that share the port: QPNs are of its range, and what is for queue pairs of others at
    /// our own address goes to `device`; numbers of XRC shared receive queues name it, too. Needs one queue, and at
    /// most link::member_queue_pairs.
    std::optional<link::MemberId> member{};
    Time start = 0;  ///< not later than the first poll
};

/// The peer of a connected queue pair, if it is known at creation, as on the passive side of a connection.
struct ExpectedPeer {
    Path path;
    wire::Qpn qpn;
};

struct QueuePairOptions {
    transport::QueuePairType type{};
    memory::PdId pd{};
    transport::CompletionQueue* send_completions = nullptr;
    transport::CompletionQueue* receive_completions = nullptr;
    transport::SendQueue::Limits send{.requests = 64, .segments = 1, .inline_bytes = 0};
    transport::ReceiveQueue::Limits receive{.requests = 64, .segments = 1};
    SharedReceiveQueue* shared = nullptr;
    const XrcDomain* xrc_domain = nullptr;  ///< XRC targets
    bool signal_all = false;
    int shard = -1;                      ///< -1: the shard that receives from `peer`; without `peer`, round robin
    std::optional<ExpectedPeer> peer{};  ///< RoCE v2 on a device with RSS (steering.h)
    /// QP1 (IBTA volume 1, 3.9.3): UD, with its own receive queue and the Q_Key 0x80010000. It accepts any P_Key; each
    /// send request names its own. Its QPN determines the shard.
    bool general_services = false;
    /// XRC target that members of a node share: its number at the node (link::is_shared_target). Each of these members
    /// has one of that number; the node passes it the requests for its shared receive queues, and their answers on.
    std::optional<wire::Qpn> shared_target{};
};

class Device {
public:
    static Result<std::unique_ptr<Device>> create(const DeviceOptions& options);
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    const DeviceOptions& options() const { return options_; }
    unsigned shards() const { return static_cast<unsigned>(engines_.size()); }

    /// Runs one poll of a shard. Returns true if there was work. `now` must not go back.
    bool poll(unsigned shard, Time now) noexcept { return engines_[shard]->poll(now); }
    /// When the shard must be polled next even if no packet arrives and nothing is posted; nullopt: no timer is armed.
    /// Called by the shard's thread.
    std::optional<Time> next_deadline(unsigned shard) noexcept { return engines_[shard]->next_deadline(); }

    /// Packets that a shard has received, including those dropped later. Called by the shard's thread.
    std::uint64_t received(unsigned shard) const noexcept { return engines_[shard]->counters().rx_packets.value(); }

    /// The port's GID table. Change it with `change_gids`, which then emits the event gid_change.
    const link::GidTable& gids() const { return gids_; }
    template <class Change>
    void change_gids(Change&& change) {
        change(gids_);
        emit({.kind = transport::AsyncEventKind::gid_change});
    }

    /// Soft fabric: our LID is another now, and that of all packets from here on, also by envelopes made before. Peers
    /// of connected queue pairs expect the old one.
    void set_lid(wire::Lid lid);

    /// Soft fabric: the P_Key table is another now, which queue pairs follow by their index. An entry that is zero, or
    /// is not there, receives nothing.
    void set_pkeys(std::vector<wire::PKey> pkeys);

    /// Returns whether the port's link is up and emits port_active or port_error, on the calling thread, when that has
    /// changed. Call it a few times a second: network devices that can reconnect do so in it.
    bool check_link();

    /// The largest path MTU that frames of this device and mempool can carry: 256 to 4096.
    std::uint32_t max_mtu() const { return max_mtu_; }

    memory::PdId allocate_pd();

    /// Registers `bytes`; peers and work requests address its first byte as `iova`. The application may unmap the
    /// memory at any time: accesses then fail as with an invalid key. EOPNOTSUPP if `rights` include flush_persistent.
    Result<MemoryRegion> register_memory(memory::PdId pd, std::span<std::byte> bytes, std::uint64_t iova,
                                         memory::Access rights);
    /// The same with `iova` equal to the virtual address.
    Result<MemoryRegion> register_memory(memory::PdId pd, std::span<std::byte> bytes, memory::Access rights) {
        return register_memory(pd, bytes, reinterpret_cast<std::uint64_t>(bytes.data()), rights);
    }
    Result<MemoryWindow> allocate_window(memory::PdId pd, memory::WindowType type);

    /// `on_event`: see CompletionQueue.
    std::unique_ptr<transport::CompletionQueue> create_cq(std::uint32_t entries, std::function<void()> on_event = {});

    /// EINVAL if one shard has more completions pending in the queue than `entries`. Called by the thread that polls
    /// the queue.
    Result<void> resize_cq(transport::CompletionQueue& queue, std::uint32_t entries);

    /// Shared by queue pairs of one shard. With a domain it is an XRC shared receive queue, whose completions go to
    /// `completions` (EINVAL without one).
    Result<std::unique_ptr<SharedReceiveQueue>> create_shared_receive_queue(
        memory::PdId pd, const transport::ReceiveQueue::Limits& limits, const XrcDomain* domain = nullptr,
        transport::CompletionQueue* completions = nullptr);
    XrcDomain create_xrc_domain();

    /// EBUSY: QP1 exists already, or the shared target does. ENOMEM: no QPN is free in the shard. EINVAL: attributes
    /// that contradict each other.
    Result<std::unique_ptr<QueuePair>> create_queue_pair(const QueuePairOptions& options);
    /// Another handle of an existing XRC target of this domain; EINVAL if there is none. The target is destroyed with
    /// its last handle.
    Result<std::unique_ptr<QueuePair>> open_xrc_target(const XrcDomain& domain, wire::Qpn qpn);

    /// Index of a GID in our table, e.g. of a packet's destination; nullopt if it is not ours. Any thread.
    std::optional<unsigned> gid_index(const wire::Gid& gid, link::GidType type) const;

    /// Builds the headers towards a peer. UD requests refer to the result (transport::UdDestination), which the caller
    /// keeps. EINVAL: the GID index is empty, or a RoCE path without a GID.
    Result<link::Envelope> envelope(const Path& path, wire::Qpn local, wire::Qpn remote) const;

    /// The flow label for the peer to send with, so that its packets arrive at the shard of `local` (steering.h). 0:
    /// they do without one, or no label helps. For the active side of a connection, which learns the peer's QPN only
    /// when it has told its own.
    std::uint32_t flow_label_for(const ExpectedPeer& peer, wire::Qpn local) const;

    /// The shard that owns a queue pair: the low bits of its QPN.
    unsigned shard_of(wire::Qpn qpn) const;

    /// Sums over all shards.
    void counters(const CounterVisitor& visit) const;
    /// Of one shard. Any thread.
    void counters(unsigned shard, const CounterVisitor& visit) const { engines_[shard]->visit_counters(visit); }

private:
    friend class MemoryRegion;
    friend class KeyHandle;
    friend class QueuePair;
    friend class SharedReceiveQueue;
    struct OwnedPair;

    explicit Device(const DeviceOptions& options);

    Result<void> make_engines();
    void emit(const transport::AsyncEvent& event) const {
        if (options_.on_event) options_.on_event(event);
    }
    Result<void> change_region(wire::RKey key, const memory::RegionAttributes& attributes);
    Result<void> remove_key(wire::RKey key);
    Result<void> revoke_key(wire::RKey key);
    template <class Remove>
    Result<void> with_grace(Remove&& remove);
    unsigned pick_shard(const QueuePairOptions& options);
    wire::Qpn pick_qpn(const QueuePairOptions& options);
    Result<wire::Qpn> choose_qpn(const QueuePairOptions& options);
    Result<link::Envelope> envelope_locked(const Path& path, wire::Qpn local, wire::Qpn remote) const;
    bool received_where_polled(const ExpectedPeer& peer, const pmd::RssTable& rss, wire::Qpn qpn,
                               std::uint32_t flow_label) const;

    DeviceOptions options_;
    std::uint32_t max_mtu_ = 0;
    bool link_up_ = false;
    mutable std::mutex mutex_;  ///< control operations, one at a time
    memory::KeyTable keys_;
    link::GidTable gids_;
    std::vector<std::unique_ptr<Engine>> engines_;
    std::vector<std::unique_ptr<XrcTable>> xrc_;  ///< of each shard
    std::uint32_t next_pd_ = 1, next_domain_ = 1, last_srq_ = 0;
    unsigned next_shard_ = 0;
    std::map<wire::Qpn, std::weak_ptr<OwnedPair>> xrc_targets_;
};

}  // namespace verbline::rdma
