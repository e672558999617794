// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A hub's lane with additional direct links to single peers, over which unicast frames bypass the hub.
///
///                        tx_burst, rx_burst
///     to a peer with a link │        │ groups, broadcast, all other peers
///                           v        v
///     memif <── DirectLink, ...    lane ──> hub
///       ^                                    │
///       └── DirectBroker: requests <─────────┘ DirectNews: one socket end for each side
///
/// The first frame for an address records the peer; the next `link_up` sends the request, and processes grants and
/// offers. Until a link is up, after it has ended, and if it was refused, frames use the lane. Frames to one
/// destination stay in order except when the path changes.
///
/// Threads: as for any NetDevice, one queue. The control thread changes the links behind a Gate (pmd/base/gate.h); the
/// packet threads take no lock, allocate nothing and make no system call.

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
#include "pmd/decorator.h"
#include "pmd/direct/broker.h"
#include "pmd/direct/direct_counters.h"
#include "pmd/direct/direct_link.h"
#include "pmd/netdev.h"
#include "pmd/wakeups/wakeups.h"

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
    static constexpr Time answer_limit = second;      ///< time limit for the hub's answer, and for the peer to connect
    static constexpr Time refusal_time = 5 * second;  ///< after a refusal, no new request for that peer before this
    static constexpr std::size_t max_refusals = 64;   ///< remembered
    static constexpr Time question_interval = 100 * millisecond;  ///< on average, once `first_questions` are used up
    static constexpr unsigned first_questions = 16;

    /// The lane must have one queue. Error EMFILE: no descriptors are left for the receive event.
    static Result<std::unique_ptr<DirectLinks>> create(std::unique_ptr<NetDevice> lane, const DirectOptions& options);
    ~DirectLinks() override;

    /// Enables direct links. `broker` must outlive the last call of `link_up`.
    void use(DirectBroker& broker);
    /// The broker has lost its peer and found another one, which knows of no links: the lane carries all frames until
    /// there are new links. By the thread that calls `link_up`.
    void restart();
    /// In the child of a fork, while no thread is in `link_up`: closes the links' sockets, so that peers detect the
    /// parent's exit.
    void abandon();

    void down() override;
    /// Returns the lane's state. Also requests, establishes and removes direct links.
    bool link_up() override;
    bool wants_link_up() const noexcept override {
        return urgent_.load(std::memory_order_relaxed) || connecting_.load(std::memory_order_relaxed) ||
               Decorator::wants_link_up();
    }
    std::uint16_t rx_burst(std::uint16_t queue, Burst burst) noexcept override;
    std::uint16_t tx_burst(std::uint16_t queue, Burst burst) noexcept override;
    int rx_event(std::uint16_t queue) const noexcept override;
    void want_rx_event(std::uint16_t queue, bool wanted) noexcept override;
    /// The lane's, this device's own, and the sums over all links, including ended ones, with the prefix `direct_`.
    void counters(const CounterVisitor& visit) const override;

private:
    struct Table;
    enum Waker : std::uint64_t { packets, control };  ///< tags of wakeups
    /// State of a peer.
    struct Peer {
        std::unique_ptr<DirectLink> link;  ///< none: requested or refused
        bool asked = false;
        Time until = 0;  ///< deadline of the answer, or end of the refusal

        /// True if its link has ended and no request or refusal is pending.
        bool may_be_asked(Time now) const {
            return link && link->state() == DirectLink::State::ending && !asked && until <= now;
        }
    };

    DirectLinks(std::unique_ptr<NetDevice> lane, const DirectOptions& options);

    bool take_news(Time now);
    void begin(DirectNews news, Time now);
    std::unique_ptr<Memif> open_pair(DirectNews& news);
    bool upkeep_links(Time now);
    bool upkeep(Peer& peer, Time now);
    bool forget(Time now);
    bool answer_wish(Time now);
    bool ask(std::uint64_t peer, Time now);
    bool may_ask(Time now);
    void refuse(std::uint64_t peer, Time now);
    void retire(std::unique_ptr<DirectLink>& link);
    std::size_t links() const;
    void publish(Time now);
    void end_all();

    DirectLink* path(Table& table, const rte_mbuf& frame) noexcept;
    void leave_word(std::uint64_t peer) noexcept;
    void detect_lost_links(Table& table, Burst frames) noexcept;

    const DirectOptions options_;
    DirectBroker* broker_ = nullptr;
    Wakeups wakeups_;
    EventDescriptor changed_;  ///< wakes the receiver after the set of links changed
    Gate<Table> gate_;

    mutable std::mutex control_;  ///< between the control thread and readers of counters
    std::map<std::uint64_t, Peer> peers_;
    std::vector<std::unique_ptr<DirectLink>> retired_;  ///< until no thread uses them
    CounterSums ended_;                                 ///< counters of ended links
    DirectControlCounters control_counters_;
    unsigned questions_ = first_questions;  ///< requests that may be sent now (token bucket)
    Time last_question_ = 0;

    std::atomic<bool> urgent_{false}, connecting_{false}, lane_up_{false};
    std::atomic<std::uint64_t> wanted_{0};  ///< a peer to request a link with; written by the sender while 0, then by
                                            ///< the control thread
    alignas(64) DirectRxCounters rx_counters_;
    std::size_t next_ = 0;  ///< the link polled first, rotated for fairness
    bool deaf_ = false;     ///< the lane has no receive event
    alignas(64) DirectTxCounters tx_counters_;
};

}  // namespace verbline::pmd
