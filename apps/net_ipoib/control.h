// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What the port does that is no packet's path: on its own thread, with the ends of its queues outside their gates.
///
///     ARP, ND of the program ──> translate.h ──> a path to the host, or the group ──> TransmitEnd::send
///     ARP, ND of the link ─────> translate.h ──> the sender's path ──> the ends know it ──> ReceiveEnd::deliver
///     identity, groups, paths <── Link (link.h) ──> the ends
///
/// A host is shown to the program only when the way to it is known, so that no frame to it has to wait. Owned by the
/// control thread; everything else here outlives it.

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "apps/net_ipoib/link.h"
#include "apps/net_ipoib/proxy_addresses.h"
#include "apps/net_ipoib/receive_end.h"
#include "apps/net_ipoib/translate.h"
#include "apps/net_ipoib/transmit_end.h"
#include "control/loop/loop.h"
#include "control/multicast/port_listeners.h"
#include "control/sa/agent.h"

namespace verbline::net_ipoib {

#define VERBLINE_CONTROL_COUNTERS(X)                                                               \
    X(tx_resolutions, "ARP and ND of the program sent on to the link")                             \
    X(rx_resolutions, "ARP and ND of the link handed to the program")                              \
    X(tx_dropped_resolution_unknown_mac, "ARP and ND to a MAC address that stands for no host")    \
    X(tx_dropped_no_buffer, "ARP and ND not sent because no buffer was free")                      \
    X(rx_dropped_no_buffer, "ARP and ND not handed to the program because its pool had no buffer") \
    X(tx_dropped_resolution_down, "ARP and ND of the program while the port was not in the broadcast group")

struct ControlCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_CONTROL_COUNTERS)
};

/// One end and its ring of events.
template <class End>
struct Queue {
    std::unique_ptr<router::Ring<router::Event>> events;
    std::unique_ptr<End> end;
};
struct Queues {
    std::vector<Queue<ReceiveEnd>> receive;
    std::vector<Queue<TransmitEnd>> transmit;
};

class Control {
public:
    struct Setup {
        wire::PKey pkey{0xffff};
        wire::Qpn qpn{};
        wire::MacAddress mac;       ///< the program's
        wire::MacAddress link_mac;  ///< on RoCE, where the device has none
        std::size_t hosts = ProxyAddresses::default_capacity;
        pmd::NetDevice* device = nullptr;
        rte_mempool* pool = nullptr;            ///< for packets to the link
        const EventDescriptor* wake = nullptr;  ///< of all ends
        std::function<void(bool up)> link;      ///< the port's link came up, or went down
        std::function<void(const std::string&)> log;
    };

    /// `agent`: of the subnet; null: the link is RoCE.
    Control(control::Loop& loop, sa::Agent* agent, Queues& queues, Setup setup);
    ~Control();
    Control(const Control&) = delete;
    Control& operator=(const Control&) = delete;
    Result<void> start();

    void set_mac(wire::MacAddress mac);
    /// The groups that the program asks for by their MAC addresses, all of them.
    void set_groups(std::vector<wire::MacAddress> groups);
    /// Whether the program wants the packets of all groups: of those that are known to exist.
    void receive_all_groups(bool all);
    bool link_up() const { return up_; }

    void counters(const CounterVisitor& visit) const;

private:
    /// A host's, as the ends know it.
    struct Known {
        wire::AddressHandle to;
        ipoib::Origin sender;
    };

    std::unique_ptr<Link> make_link(sa::Agent* agent);
    Link::Setup link_setup();
    template <class Change>
    void change_receivers(Change change);
    template <class Change>
    void change_transmitters(Change change);

    void drain();
    void from_program(const router::Event& event);
    void from_link(const router::Event& event);
    void resolve_for_program(const router::Punted& event);
    void resolve_for_link(const router::Punted& event);
    void send_to_host(wire::MacAddress mac, wire::EtherType type, Packet packet);
    void send(wire::Bytes packet, const link::Destination& to);
    enum class Again : bool { no, yes };
    void know(const wire::IpoibAddress& host, std::function<void()> then, Again again = Again::no);
    void set_way(wire::MacAddress mac, const Way& way);
    void forget_sender(wire::MacAddress mac);
    void forget(wire::MacAddress mac);
    void deliver(wire::EtherType type, wire::MacAddress from, const Packet& packet);
    void learn_own(wire::Bytes discovery);

    void came_up();
    void locate_all();
    void update_link();
    void upkeep();
    void look_for_groups();
    void hear_groups();
    std::set<wire::Gid> wanted_groups();

    control::Loop& loop_;
    Queues& queues_;
    const Setup setup_;
    OwnAddresses own_;
    ProxyAddresses hosts_;
    std::map<wire::MacAddress, Known> ways_;
    std::set<wire::Gid> reported_;          ///< groups that the program listens to, by IGMP and MLD
    std::vector<wire::Gid> own_groups_;     ///< of the program's IPv6 addresses, as seen in its ND
    std::vector<wire::MacAddress> listed_;  ///< groups of set_groups
    bool all_groups_ = false;
    std::set<wire::Gid> heard_;
    bool carrier_ = false, up_ = false;
    CountersBy<Untranslated> untranslated_;
    ControlCounters counters_;
    std::unique_ptr<Link> link_;
    multicast::PortListeners listeners_;
    control::Watch events_;
    control::Timer upkeep_;
};

}  // namespace verbline::net_ipoib
