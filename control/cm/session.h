// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// An endpoint as the tables hold it: its state machine, its inbox, and whether its user has been notified.
///
/// While the user holds the endpoint, received messages wait until it is polled; once dropped, the thread that delivers
/// a message or a timeout runs the state machine, until it is over. Lock order: a session's, then a table's or a
/// wheel's; never two sessions'. MADs are sent, users notified and other sessions called with no lock held.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "control/cm/actions.h"
#include "control/cm/connection.h"
#include "control/cm/endpoint.h"
#include "control/cm/fifo.h"
#include "control/cm/message.h"
#include "control/cm/reference.h"
#include "control/cm/shares.h"
#include "control/cm/sidr.h"
#include "datapath/timer/timer.h"

namespace verbline::cm {

class Manager;

class Session final : public Counted, public timer::Timer {
public:
    static constexpr std::size_t inbox_size = 16, backlog_size = 4096;

    struct Listener {
        wire::CmServiceId service{};
        std::uint64_t mask = 0;
        Time since = 0;
    };
    using Machine = std::variant<Listener, Connection, Sidr>;
    struct Received {
        mad::GmpPeer from;
        ReceivedMessage message;
    };

    struct Shown {
        CommunicationId local{}, remote{};
        ConnectionState state{};
        wire::CmServiceId service{};
        wire::Gid peer{};
        wire::Qpn local_qpn{}, remote_qpn{};
        unsigned retries = 0;
        Time since = 0;  ///< in this state
    };

    Session(Manager& manager, std::uint32_t id, Machine machine)
        : manager_(manager),
          id_(id),
          listens_(std::holds_alternative<Listener>(machine)),
          machine_(std::move(machine)) {}
    ~Session();

    std::uint32_t id() const { return id_; }
    CommunicationId remote_id() const;
    /// Lock-free, any thread: the state after the last step.
    ConnectionState state() const { return state_.load(std::memory_order_acquire); }
    Shown shown() const;

    /// For a new passive session: takes over its half-open slot, which is freed once the request has been answered.
    void take_half_open(Shares::Slot share);
    /// Sets the user's handle, which is passed to `on_ready`.
    void attach(const EndpointPointer& handle);
    /// The user dropped the handle.
    void abandon(Time now);

    // From the network and the clock.

    void push(const mad::GmpPeer& from, const ReceivedMessage& message, Time now);
    void due(Time now);
    /// The connection's remote queue pair is claimed by a new connection. `by`: sender of the REQ that claimed it,
    /// which must be the peer; null if it was not a REQ.
    void mark_stale(const mad::GmpPeer* by, Time now);
    /// Call before `push`. The session may already be freed; it is not dereferenced.
    static void prefetch(const void* session) noexcept;
    bool listens() const { return listens_; }
    /// Whether a REQ with this connection's remote id belongs to it: it is a retransmission, or the connection is open.
    bool takes(const ReceivedMessage& req) const;

    // From the user.

    std::optional<EndpointEvent> poll(Time now);
    /// One step of a machine of type `Kind` (Connection or Sidr), else EINVAL. `act(machine, actions)` returns a
    /// Result.
    template <class Kind, class Act>
    Result<void> step(Time now, Act&& act);

private:
    /// Which of the peer's slots it holds (peer_limits.h).
    enum class Place : std::uint8_t { none, half_open, closing };

    /// Processes the next pending input: a message, staleness or a timeout. False: nothing is pending.
    bool run_one(Actions& actions, Time now);
    void run_all(Actions& actions, Time now);
    std::optional<EndpointEvent> poll_listener(Time now);
    bool machine_due(Time now) const;
    void run(const Received& received, Actions& actions, Time now);
    /// After a step, with the lock held: updates events, tables and timer from the machine.
    void settle(Actions& actions, Time now);
    void settle_connection(const Connection& connection);
    void settle_timer(std::optional<Time> deadline, Time now);
    void settle_place(bool half_open);
    void close_within_limits(Actions& actions, Time now);
    bool over() const { return abandoned_ && state() == ConnectionState::idle; }
    void retire_if_over();
    void notify(std::unique_lock<std::mutex>& lock);

    Manager& manager_;
    const std::uint32_t id_;
    const bool listens_;
    Shares::Slot share_ = 0;  ///< of the slot that `place_` counts
    mutable std::mutex mutex_;
    std::atomic<ConnectionState> state_ = ConnectionState::idle;
    bool ready_reported_ = false;  ///< on_ready was called, and `poll` has not returned none since
    bool abandoned_ = false, stale_ = false;
    bool in_connections_ = false, in_queue_pairs_ = false, in_peers_ = false;
    Place place_ = Place::none;
    Time armed_for_ = 0;
    std::weak_ptr<Endpoint> handle_;
    Fifo<Received> inbox_;
    Fifo<EndpointEvent> events_;  ///< usually few
    Machine machine_;             ///< last: `push` needs only the members above, see prefetch

    friend class Manager;
};

template <class Kind, class Act>
Result<void> Session::step(Time now, Act&& act) {
    std::unique_lock lock(mutex_);
    auto* const machine = std::get_if<Kind>(&machine_);
    if (machine == nullptr) return failure(EINVAL, "an endpoint of this kind cannot do that");
    Actions actions(manager_, id_);
    auto result = std::forward<Act>(act)(*machine, actions);
    settle(actions, now);
    lock.unlock();
    actions.carry_out(now);
    return result;
}

}  // namespace verbline::cm
