// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A lane of a hub, and beside it links with single peers, over which unicast frames go without the hub.
///
///                        tx_burst, rx_burst
///     to a peer with a link │        │ groups, broadcast, everybody else
///                           v        v
///     memif <── DirectLink, ...    lane ──> hub
///       ^                                    │
///       └── DirectBroker: asks the hub, <────┘ news: one end of a socket each
///
/// The first frame for an address leaves word; the next `link_up` asks, and takes the answers and offers that have
/// come. Until a link is up, after it has ended, and where it was refused, frames take the lane. Frames of one
/// destination keep their order but where they change over.
///
/// Threads: as for any NetDevice, one queue. The control thread changes the links behind a Gate (pmd/base/gate.h);
/// the threads of the packets take no lock, allocate nothing and make no system call.

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "datapath/wire/types.h"
#include "pmd/base/event_descriptor.h"
#include "pmd/base/gate.h"
#include "pmd/base/time.h"
#include "pmd/bridge/wakeups.h"
#include "pmd/decorator.h"
#include "pmd/direct/broker.h"
#include "pmd/direct/direct_counters.h"
#include "pmd/direct/direct_link.h"
#include "pmd/netdev.h"

struct rte_mempool;

namespace verbline::pmd {

struct DirectOptions {
    rte_mempool* pool = nullptr;
    std::uint32_t buffer_size = 2304;  ///< bytes in a slot of a link's rings
    unsigned log2_ring_size = 9;
    std::function<Time()> clock;  ///< monotonic
};

class DirectLinks final : public Decorator {
public:
    static constexpr std::size_t max_links = 16;
    static constexpr Time answer_limit = second;      ///< for the hub to answer, and for the peer to connect
    static constexpr Time refusal_time = 5 * second;  ///< nobody is asked again so soon after a refusal
    static constexpr std::size_t max_refusals = 64;   ///< remembered
    static constexpr Time question_interval = 100 * millisecond;  ///< on average, once the first ones are used up
    static constexpr unsigned first_questions = 16;

    /// EMFILE: no descriptors are left to sleep on. The lane has one queue.
    static Result<std::unique_ptr<DirectLinks>> create(std::unique_ptr<NetDevice> lane, const DirectOptions& options);
    ~DirectLinks() override;

    /// From then on there are links. `broker` outlives the last `link_up`.
    void use(DirectBroker& broker);
    /// In the child of a fork, while nobody is in `link_up`: closes the links' sockets, by which peers see our end.
    void abandon();

    void down() override;
    /// The lane's state. Links are asked for, made and taken away here.
    bool link_up() override;
    bool wants_link_up() const noexcept override {
        return urgent_.load(std::memory_order_relaxed) || connecting_.load(std::memory_order_relaxed) ||
               Decorator::wants_link_up();
    }
    std::uint16_t rx_burst(std::uint16_t queue, Burst burst) noexcept override;
    std::uint16_t tx_burst(std::uint16_t queue, Burst burst) noexcept override;
    int rx_event(std::uint16_t queue) const noexcept override;
    void want_rx_event(std::uint16_t queue, bool wanted) noexcept override;
    /// The lane's; ours; the sums over all links, past ones included, with `direct_` before their names.
    void counters(const CounterVisitor& visit) const override;

private:
    struct Table;
    enum Waker : std::uint64_t { packets, control };  ///< what an event says
    /// What is known of a peer.
    struct Peer {
        std::unique_ptr<DirectLink> link;  ///< none: it is asked for, or was refused
        bool asked = false;
        Time until = 0;  ///< of an answer, or a refusal

        /// Its link has ended, that is: of others more is known for the time being.
        bool may_be_asked(Time now) const {
            return link && link->state() == DirectLink::State::ending && !asked && until <= now;
        }
    };

    DirectLinks(std::unique_ptr<NetDevice> lane, const DirectOptions& options);

    bool take_news(Time now);
    void begin(DirectNews news, Time now);
    std::unique_ptr<Memif> open_pair(DirectNews& news);
    bool look_after_links(Time now);
    bool look_after(Peer& peer, Time now);
    bool forget(Time now);
    bool answer_wish(Time now);
    bool ask(std::uint64_t peer, Time now);
    bool may_ask(Time now);
    void refuse(std::uint64_t peer, Time now);
    void retire(std::unique_ptr<DirectLink>& link);
    std::size_t links() const;
    void publish(Time now);

    DirectLink* path(Table& table, const rte_mbuf& frame) noexcept;
    void leave_word(std::uint64_t peer) noexcept;
    void look_at_lane(Table& table, Burst frames) noexcept;

    const DirectOptions options_;
    DirectBroker* broker_ = nullptr;
    Wakeups wakeups_;
    EventDescriptor changed_;  ///< whoever sleeps looks at what is there now
    Gate<Table> gate_;

    mutable std::mutex control_;  ///< between the control thread and whoever reads counters
    std::map<std::uint64_t, Peer> peers_;
    std::vector<std::unique_ptr<DirectLink>> retired_;  ///< until nobody uses them
    CounterSums ended_;                                 ///< what they had counted
    DirectControlCounters control_counters_;
    unsigned questions_ = first_questions;  ///< that may be asked now
    Time last_question_ = 0;

    std::atomic<bool> urgent_{false}, connecting_{false}, lane_up_{false};
    std::atomic<std::uint64_t> wanted_{0};  ///< a peer without a link; the sender's while 0, then the control thread's
    alignas(64) DirectRxCounters rx_counters_;
    std::size_t next_ = 0;  ///< polled first, so that none is always last
    bool deaf_ = false;     ///< the lane cannot wake us
    alignas(64) DirectTxCounters tx_counters_;
};

}  // namespace verbline::pmd
