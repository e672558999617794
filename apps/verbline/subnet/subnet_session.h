// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A port and its subnet administrator, for commands that make a few queries and end. DPDK is not started.

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "apps/verbline/command_line/command.h"
#include "control/loop/loop.h"
#include "control/mad/transport.h"
#include "control/sa/client.h"
#include "pmd/base/error.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::cli {

class SubnetSession {
public:
    /// `spec` as control/mad/open.h takes it. Fails unless the port is active and knows a subnet manager.
    static std::expected<SubnetSession, Failure> open(const std::string& spec);

    control::Loop& loop() { return *loop_; }
    mad::Transport& transport() { return *transport_; }
    const mad::PortFacts& port() const { return transport_->port(); }

    /// Runs the loop until `done`, or for `limit`, or soon after `give_up_at` says so. Returns done().
    bool run_until(const std::function<bool()>& done, Time limit);
    /// Whoever waits need not wait longer once `stop` is set, by another thread. It outlives the session.
    void give_up_at(const std::atomic<bool>& stop) { stop_ = &stop; }
    /// Blocks SIGINT and SIGTERM: they stay pending until run_until_signal.
    static void hold_signals();
    /// Runs the loop until SIGINT or SIGTERM. Call `hold_signals` first.
    Outcome run_until_signal();

private:
    SubnetSession(std::unique_ptr<control::Loop> loop, std::unique_ptr<mad::Transport> transport)
        : loop_(std::move(loop)), transport_(std::move(transport)) {}

    std::unique_ptr<control::Loop> loop_;
    std::unique_ptr<mad::Transport> transport_;
    const std::atomic<bool>* stop_ = nullptr;  ///< null: nobody interrupts
};

/// Longer than all retries of a patient request (sa::Client::patient).
constexpr Time answer_limit = 10 * second;

/// Calls `ask` with a reply handler, and runs the loop until that is called, or for `answer_limit` (timed_out).
template <class Record>
sa::Answer<Record> await(SubnetSession& session, const std::function<void(sa::ReplyHandler<Record>)>& ask) {
    // Shared: after the limit the handler may still be called while the client is being destroyed.
    const auto answer = std::make_shared<std::optional<sa::Answer<Record>>>();
    ask([answer](const sa::Answer<Record>& given) { *answer = given; });
    session.run_until([&] { return answer->has_value(); }, answer_limit);
    return answer->value_or(std::unexpected(sa::Failure{.reason = sa::Failure::Reason::timed_out}));
}

}  // namespace verbline::cli
