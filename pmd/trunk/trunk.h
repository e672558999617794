// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A device whose frames belong to several ports, presented as one device for each. How a frame is known to be a
/// port's is up to `Sorting`: its VLAN tag (pmd/vlan), its P_Key (pmd/partition).
///
///     rx_burst of any port ── device ── Sorting::take ──┬── the port's own: returned
///                                                       ├── another port's: waits for its rx_burst
///                                                       └── of no port: dropped and counted
///     tx_burst of a port ── Sorting::put ──> device
///
/// All ports have the device's queues and its MAC address. Threads: as for any NetDevice; the receive and transmit
/// bursts of one queue are made by the same thread for all ports.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <rte_mbuf.h>

#include "pmd/base/counter.h"
#include "pmd/netdev.h"

namespace verbline::pmd::trunk {

template <class Sorting>
class Port;

/// Owned by its ports together. `Sorting` has
///
///     Key, keys                         what tells ports apart, an enumeration of numbers below `keys`
///     name(device, key)                 of a port
///     take(frame)                       the key of a received frame, which is made as its port expects it; or none
///     TrunkCounters, PortCounters       of a queue, and a port's of a queue
///     no_port, keyless(TrunkCounters&)  of frames whose key no port has, or that have none; a null `keyless`: the
///                                       first port's, which knows why it does not want them
///
/// and, if frames do not show yet whose they are when they are sent,
///
///     put, undo_put                     change a frame; `put` may refuse
///     alters(key)                       whether they do
///     no_room(PortCounters&)            of frames that `put` refuses
template <class Sorting>
class Trunk : public std::enable_shared_from_this<Trunk<Sorting>> {
public:
    using Key = Sorting::Key;

    /// `mac`: that of all ports, used if the device does not determine one.
    static std::shared_ptr<Trunk> create(std::unique_ptr<NetDevice> device, wire::MacAddress mac) {
        return std::shared_ptr<Trunk>(new Trunk(std::move(device), mac));
    }

    /// The port of a key; once for each, all before one is up.
    std::unique_ptr<NetDevice> port(Key key);

    // For ports.

    NetDevice& device() { return *device_; }
    const NetDevice& device() const { return *device_; }
    wire::MacAddress mac() const { return mac_; }
    /// Whether the port is the one that shows the device's counters and has its receive event.
    bool first(const Port<Sorting>& port) const { return ports_.front() == &port; }

    Result<void> up();
    void down();
    std::error_code attach(const MulticastAddress& group);
    std::error_code detach(const MulticastAddress& group);
    std::error_code receive_all_multicast(bool all);
    /// Receives from the device as many frames as each port has room for, at most `limit`. Returns their number.
    std::uint16_t receive(std::uint16_t queue, std::size_t limit) noexcept;
    void want_rx_event(std::uint16_t queue, bool wanted) noexcept;
    void remove(const Port<Sorting>& port);
    void counters(const CounterVisitor& visit) const;

private:
    struct alignas(64) Queue {
        unsigned wanting = 0;  ///< ports whose receive event is enabled
        Sorting::TrunkCounters counters;
    };

    Trunk(std::unique_ptr<NetDevice> device, wire::MacAddress mac);
    void distribute(Queue& queue, std::uint16_t number, Burst frames) noexcept;

    std::unique_ptr<NetDevice> device_;
    wire::MacAddress mac_;
    std::vector<Port<Sorting>*> ports_;
    std::vector<Port<Sorting>*> by_key_ = std::vector<Port<Sorting>*>(Sorting::keys);
    std::vector<std::unique_ptr<Queue>> queues_;
    std::map<wire::MacAddress, unsigned> groups_;  ///< ports that have attached each
    unsigned up_ = 0;                              ///< ports that are
    unsigned all_multicast_ = 0;                   ///< ports that receive all groups
};

template <class Sorting>
Trunk<Sorting>::Trunk(std::unique_ptr<NetDevice> device, wire::MacAddress mac)
    : device_(std::move(device)), mac_(device_->mac().value_or(mac)) {
    const auto& own = device_->capabilities();
    for (unsigned i = 0; i < std::max(own.rx_queues, own.tx_queues); ++i) queues_.push_back(std::make_unique<Queue>());
}

template <class Sorting>
std::unique_ptr<NetDevice> Trunk<Sorting>::port(Key key) {
    auto port = std::make_unique<Port<Sorting>>(this->shared_from_this(), key);
    by_key_[static_cast<std::size_t>(key)] = port.get();
    ports_.push_back(port.get());
    return port;
}

template <class Sorting>
void Trunk<Sorting>::remove(const Port<Sorting>& port) {
    std::erase(ports_, &port);
    by_key_[static_cast<std::size_t>(port.key())] = nullptr;
}

template <class Sorting>
Result<void> Trunk<Sorting>::up() {
    if (up_ == 0)
        if (auto done = device_->up(); !done) return done;
    ++up_;
    return {};
}

template <class Sorting>
void Trunk<Sorting>::down() {
    if (--up_ == 0) device_->down();
}

template <class Sorting>
std::error_code Trunk<Sorting>::attach(const MulticastAddress& group) {
    if (groups_[group.mac]++ > 0) return {};
    return device_->attach_multicast(group);
}

template <class Sorting>
std::error_code Trunk<Sorting>::detach(const MulticastAddress& group) {
    const auto found = groups_.find(group.mac);
    if (found == groups_.end() || --found->second > 0) return {};
    groups_.erase(found);
    return device_->detach_multicast(group);
}

template <class Sorting>
std::error_code Trunk<Sorting>::receive_all_multicast(bool all) {
    if (all ? all_multicast_++ > 0 : --all_multicast_ > 0) return {};
    return device_->receive_all_multicast(all);
}

template <class Sorting>
std::uint16_t Trunk<Sorting>::receive(std::uint16_t queue, std::size_t limit) noexcept {
    auto room = std::min(limit, max_burst);
    for (const auto* port : ports_) room = std::min(room, port->room(queue));
    std::array<rte_mbuf*, max_burst> frames;
    const auto received = device_->rx_burst(queue, Burst(frames).first(room));
    distribute(*queues_[queue], queue, Burst(frames).first(received));
    return received;
}

template <class Sorting>
void Trunk<Sorting>::distribute(Queue& queue, std::uint16_t number, Burst frames) noexcept {
    for (auto* frame : frames) {
        const auto key = Sorting::take(*frame);
        Counter* const keyless = key ? nullptr : Sorting::keyless(queue.counters);
        auto* port = key ? by_key_[static_cast<std::size_t>(*key)] : nullptr;
        if (!key && keyless == nullptr) port = ports_.front();
        if (port != nullptr) {
            port->keep(number, frame);
            continue;
        }
        (key ? Sorting::no_port(queue.counters) : *keyless).add();
        rte_pktmbuf_free(frame);
    }
}

template <class Sorting>
void Trunk<Sorting>::want_rx_event(std::uint16_t queue, bool wanted) noexcept {
    auto& wanting = queues_[queue]->wanting;
    if (wanted ? wanting++ == 0 : --wanting == 0) device_->want_rx_event(queue, wanted);
}

template <class Sorting>
void Trunk<Sorting>::counters(const CounterVisitor& visit) const {
    visit_sums(queues_, visit, [](const auto& queue) -> const auto& { return queue->counters; });
    device_->counters(visit);
}

}  // namespace verbline::pmd::trunk

#include "pmd/trunk/port.h"
