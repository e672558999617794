// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/port.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

#include <poll.h>
#include <rte_errno.h>
#include <rte_mbuf.h>

#include <fmt/format.h>

#include "apps/libibverbs/port/eal.h"
#include "apps/libibverbs/port/packet_pool.h"
#include "apps/libibverbs/port/process.h"
#include "apps/libibverbs/port/shared_tsc_clock.h"
#include "apps/libibverbs/port/sysfs_facts.h"
#include "datapath/link/ip_gid.h"
#include "pmd/base/clock.h"
#include "pmd/base/free_descriptors.h"
#include "pmd/packet_pool.h"

namespace verbline::verbs {
namespace {

constexpr std::uint32_t max_queue_pairs = 1 << 14;
constexpr std::uint16_t mads = 4096;  ///< for a burst of connects to many peers, which are retried only after seconds
constexpr Time lane_limit = 2 * second;         ///< for a hub to bring up the lane
constexpr Time pair_limit = 200 * millisecond;  ///< for the serving end of a memif pair, if it is there
constexpr Time lane_interval = millisecond;
constexpr Time capture_interval = 50 * millisecond;

std::vector<wire::Gid> gids_of(const std::vector<InterfaceAddress>& addresses) {
    std::vector<wire::Gid> gids;
    for (const auto& address : addresses) gids.push_back(address.gid);
    return gids;
}

/// On a shared link, programs with the same address should have different QPNs.
std::uint32_t random_slot() {
    return std::random_device()();
}

}  // namespace

void VerbsPort::FreePool::operator()(rte_mempool* pool) const {
    rte_mempool_free(pool);
}

Result<std::unique_ptr<VerbsPort>> VerbsPort::open(const PortIdentity& identity, const Link& link,
                                                   const Settings& settings) {
    std::unique_ptr<VerbsPort> port(new VerbsPort(identity));
    if (auto started = port->start(link, settings); !started) return std::unexpected(started.error());
    return port;
}

Result<void> VerbsPort::start(const Link& link, const Settings& settings) {
    pool_.reset(pmd::make_packet_pool(identity_.instance.c_str(), packet_count, packet_cache,
                                      RTE_PKTMBUF_HEADROOM + packet_room, SOCKET_ID_ANY, pmd::BufferLayout::packed));
    if (pool_ == nullptr) return failure(rte_errno, fmt::format("{}: no memory for packets", name()));
    auto opened = open_link(link, settings, identity_, {.pool = pool_.get(), .clock = make_shared_clock()});
    if (!opened) return std::unexpected(opened.error());
    link_ = std::move(*opened);
    if (link_.direct != nullptr) link_.direct->use(broker_);
    next_hops_.use(link_.neighbours, [this](const wire::Gid& from, const wire::Gid& to, Time timeout) {
        return query_next_hop(from, to, timeout);
    });

    fabric_ = link_.fabric;
    reregistrations_ = link_.reregistrations;
    if (fabric_.pkeys.empty()) fabric_.pkeys = {wire::PKey{0xffff}};

    const bool ib = link_.infiniband();
    auto device = rdma::Device::create({.name = identity_.instance,
                                        .device = link_.device.get(),
                                        .pool = pool_.get(),
                                        .kind = ib ? link::GidTable::Kind::ib : link::GidTable::Kind::roce,
                                        .mac = link_.mac,
                                        .lid = fabric_.lid,
                                        .pkeys = fabric_.pkeys,
                                        .on_event = [this](const transport::AsyncEvent& event) { dispatch(event); },
                                        .max_queue_pairs = max_queue_pairs,
                                        .first_slot = random_slot(),
                                        .member = link_.lane.member,
                                        .start = monotonic_now()});
    if (!device) return std::unexpected(device.error());
    device_ = std::move(*device);
    xrc_.use(*device_);
    device_->change_gids([&](link::GidTable& gids) {
        gids.add_interface(link_.ifindex, link_.mac);
        gids.set_addresses(link_.ifindex, gids_of(link_.addresses));
    });
    addresses_ = link_.addresses;
    await_link(link);
    sysfs_ = settings.sysfs;
    if (!sysfs_.empty()) counter_files_.emplace(fmt::format("{}/infiniband/{}/ports/1", sysfs_, name()));
    write_sysfs();
    // Not on an interface of the kernel: beside a guest of User Mode Linux, whose driver may miss a frame until the
    // next one comes, the guest was seen to hear no more. Why is not known.
    const bool sleeps_long = static_cast<bool>(link_.lane.control);
    progress_ = std::make_unique<Progress>(*link_.device, *device_, link_.held_back, sleeps_long);
    if (!progress_->usable()) return no_descriptors(EMFILE, name());
    if (ib && !link_.lane.member) fabric_watch_.watch(link_.fabric_link);
    if (link_.lane.control) progress_->on_upkeep([this] { follow_hub(); });
    progress_->on_lost([this] { lose(); });
    if (counter_files_) progress_->after_upkeep([this] { refresh_counters(); });
    return start_threads();
}

std::vector<InterfaceAddress> VerbsPort::addresses() const {
    const std::scoped_lock lock(addresses_mutex_);
    return addresses_;
}

void VerbsPort::set_addresses(const std::vector<InterfaceAddress>& addresses) {
    {
        const std::scoped_lock lock(addresses_mutex_);
        if (addresses == addresses_) return;
        addresses_ = addresses;
    }
    device_->change_gids([&](link::GidTable& gids) { gids.set_addresses(link_.ifindex, gids_of(addresses)); });
    write_sysfs();
    tell_of_change();
}

void VerbsPort::on_change(std::function<void()> notify) {
    const std::scoped_lock lock(addresses_mutex_);
    on_change_ = std::move(notify);
}

void VerbsPort::tell_of_change() {
    std::function<void()> notify;
    {
        const std::scoped_lock lock(addresses_mutex_);
        notify = on_change_;
    }
    if (notify) notify();
}

/// A node tells when its port's addresses change. While another thread waits for an answer of the node, that one
/// receives it; the next upkeep takes it.
void VerbsPort::follow_hub() {
    const auto now = monotonic_now();
    fabric_watch_.look(now);
    switch (lane_keeper_.look(now)) {
        case LaneKeeper::News::nothing: break;
        case LaneKeeper::News::ended: set_joined(false); break;
        case LaneKeeper::News::returned: set_joined(true); break;
    }
    if (!link_.lane.member) return;
    xrc_.follow();
    if (infiniband()) subnet_.look();
    const std::unique_lock lock(hub_mutex_, std::try_to_lock);
    if (!lock) return;
    if (const auto addresses = hub::take_addresses(link_.lane)) set_addresses(*addresses);
}

/// Programs that close the device when it is fatal, and open it again, have it back as those that have waited.
void VerbsPort::set_joined(bool joined) {
    if (joined && link_.lane.member && !infiniband()) set_addresses(link_.lane.addresses);
    joined_.store(joined, std::memory_order_relaxed);
    if (!joined) {
        complain(
            {.code = ENODEV,
             .what = fmt::format("{}: has ended; the device works again when it has been started again", link_.text)});
        dispatch({.kind = transport::AsyncEventKind::port_error});  // not told yet of a lane that was moving
        dispatch({.kind = transport::AsyncEventKind::device_fatal});
    }
    tell_of_change();
}

Result<void> VerbsPort::start_threads() {
    auto helper = QuietThread::start([this](const std::stop_token& stop) { progress_->run(stop); });
    if (!helper) return std::unexpected(helper.error());
    helper_ = std::move(*helper);
    if (link_.capture == nullptr) return {};
    auto writer = QuietThread::start([this](const std::stop_token& stop) {
        std::mutex mutex;
        std::condition_variable_any interval;  // which the end of the process does not wait for
        std::unique_lock lock(mutex);
        while (!stop.stop_requested()) {
            std::ignore = link_.capture->drain();
            interval.wait_for(lock, stop, std::chrono::nanoseconds(capture_interval), [] { return false; });
        }
        std::ignore = link_.capture->drain();
    });
    if (!writer) return std::unexpected(writer.error());
    capture_writer_ = std::move(*writer);
    return {};
}

/// Waits for a lane of a hub, or for the server of a memif pair: a program reads the port's state once, at its start,
/// and its first datagram may be its only one. A cable is not waited for.
void VerbsPort::await_link(const Link& link) {
    const auto* const pair = std::get_if<pmd::MemifSpec>(&link);
    const bool joins = pair != nullptr && !pair->server;
    const auto until = monotonic_now() + (link_.lane.control ? lane_limit : joins ? pair_limit : 0);
    while (!device_->check_link() && monotonic_now() < until) {
        ::poll(nullptr, 0, static_cast<int>(lane_interval / millisecond));
    }
}

/// On failure, as after the program has dropped its privileges, the entries stay as they are.
void VerbsPort::write_sysfs() {
    const std::scoped_lock lock(sysfs_mutex_);
    if (!sysfs_.empty()) std::ignore = SysfsTree(sysfs_).update(sysfs_facts(*this));
}

void VerbsPort::refresh_counters() {
    const std::scoped_lock lock(sysfs_mutex_);
    const auto now = counters();
    counter_files_->refresh(now.counters, now.hw_counters);
}

VerbsPort::~VerbsPort() {
    helper_.request_stop();
    if (progress_ != nullptr) progress_->wake();
}

wire::Guid VerbsPort::guid() const {
    if (infiniband()) return link_.fabric.node_guid;
    return guid_of(link_.mac);
}

bool VerbsPort::active() const {
    return active_.load(std::memory_order_relaxed) || link_.peer_comes_and_goes;
}

Result<mad::Gsi*> VerbsPort::gsi() {
    const std::scoped_lock lock(gsi_mutex_);
    if (gsi_ != nullptr) return gsi_.get();
    mad::GsiOptions options{.device = device_.get(),
                            .slots = mads,
                            .next_hop =
                                [this](unsigned gid_index, const wire::Gid& to) {
                                    const auto hop = next_hop(gid_index, to);
                                    if (!hop) ask_next_hop(gid_index, to);
                                    return hop;
                                },
                            .on_posted = [this] { progress_->posted_by_service(); }};
    options.pkeys = fabric().pkeys;  // `set_fabric` waits for the mutex
    auto made = mad::Gsi::create(std::move(options));
    if (!made) return std::unexpected(made.error());
    gsi_ = std::move(*made);
    on_performance_answer({});
    return gsi_.get();
}

/// Set by setting the receiver of the class anew, which waits for a drain under way.
void VerbsPort::on_performance_answer(mad::GmpReceiver receiver) {
    gsi_->receive(wire::MadClass::performance,
                  [this, answers = std::move(receiver)](std::span<const mad::GmpArrival> burst) {
                      receive_performance(burst, answers);
                  });
}

void VerbsPort::receive_performance(std::span<const mad::GmpArrival> burst, const mad::GmpReceiver& answers) {
    if (answers) answers(burst);
    const auto now = counters();
    const mad::PerformanceCounters values{.link_downed = now.of("link_downed"),
                                          .receive_errors = now.of("port_rcv_errors"),
                                          .transmit_discards = now.of("port_xmit_discards"),
                                          .transmit_data = now.of("port_xmit_data"),
                                          .receive_data = now.of("port_rcv_data"),
                                          .transmit_packets = now.of("port_xmit_packets"),
                                          .receive_packets = now.of("port_rcv_packets")};
    for (const auto& arrival : burst)
        if (const auto answer = performance_.answer(arrival.mad, values)) gsi_->send(arrival.from, *answer);
}

void VerbsPort::listen(std::uint64_t identity, const void* who, Listener listener) {
    const std::scoped_lock lock(listeners_mutex_);
    listeners_.emplace(identity, Listening{who, std::move(listener)});
}

void VerbsPort::stop_listening(std::uint64_t identity, const void* who) {
    const std::scoped_lock lock(listeners_mutex_);
    const auto [first, last] = listeners_.equal_range(identity);
    const auto found = std::find_if(first, last, [who](const auto& entry) { return entry.second.who == who; });
    if (found != last) listeners_.erase(found);
}

void VerbsPort::dispatch(const transport::AsyncEvent& event) {
    if (event.kind == transport::AsyncEventKind::port_active || event.kind == transport::AsyncEventKind::port_error) {
        const bool up = event.kind == transport::AsyncEventKind::port_active;
        if (link_.peer_comes_and_goes || (!up && lane_keeper_.moving())) return;
        if (up) lane_keeper_.moved();
        if (active_.exchange(up) == up) return;
        if (!up) downs_.fetch_add(1, std::memory_order_relaxed);
        if (progress_ != nullptr) write_sysfs();
    }
    const auto who = event.cq != nullptr    ? identity(event.cq)
                     : event.srq != nullptr ? identity(event.srq)
                                            : identity(event.qpn);
    const std::scoped_lock lock(listeners_mutex_);
    const auto [first, last] = listeners_.equal_range(who);
    std::for_each(first, last, [&](auto& entry) { entry.second.notify(event); });
}

void VerbsPort::share(SharedKind kind, std::uint32_t handle, void* object) {
    const std::scoped_lock lock(shared_mutex_);
    shared_[{kind, handle}] = object;
}

void VerbsPort::unshare(SharedKind kind, std::uint32_t handle) {
    const std::scoped_lock lock(shared_mutex_);
    shared_.erase({kind, handle});
}

void* VerbsPort::shared(SharedKind kind, std::uint32_t handle) {
    const std::scoped_lock lock(shared_mutex_);
    const auto found = shared_.find({kind, handle});
    return found != shared_.end() ? found->second : nullptr;
}

void VerbsPort::finish(Time until) {
    progress_->finish(until);
    fabric_watch_.leave();
    capture_writer_ = {};
    if (!counter_files_) return;
    const std::scoped_lock lock(sysfs_mutex_);
    const auto last = counters();
    counter_files_->write_all(last.counters, last.hw_counters);
}

/// The rest of the link could still carry packets, but would wake no thread.
void VerbsPort::lose() {
    lost_.store(true, std::memory_order_relaxed);
    complain({.code = EBADF,
              .what = fmt::format("{}: the program has closed descriptors that are not its own, past the C library's "
                                  "close; the device is dead. Leave alone descriptors that the program has not opened",
                                  name())});
    dispatch({.kind = transport::AsyncEventKind::device_fatal});
}

void VerbsPort::abandon() {
    abandoned_.store(true, std::memory_order_relaxed);
    progress_->abandon();
    fabric_watch_.abandon();
    link_.lane.control = {};  // or the hub would take us for our parent, as would those with direct links
    if (link_.direct != nullptr) link_.direct->abandon();
    ports_.abandon();
}

}  // namespace verbline::verbs
