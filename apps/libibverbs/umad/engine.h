// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What the kernel does between umad devices and a port's queue pairs: agents, transaction ids, timeouts and retries,
/// RMPP.
///
///     write ──> agent's transaction id ──> RequestTable ──> Transmission ──> QP0, QP1
///     QP0, QP1 ──> received ── answer: to its request; request: to who registered ── assembled, if RMPP ──> Arrival
///     tick ──> repeats, and requests whose time is up ──> Arrival with ETIMEDOUT
///
/// Pure: no I/O, no clock. Errors are errno values, as of the kernel's device.

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "apps/libibverbs/umad/agent_table.h"
#include "apps/libibverbs/umad/message.h"
#include "apps/libibverbs/umad/request_table.h"
#include "apps/libibverbs/umad/rmpp_receiver.h"
#include "pmd/base/time.h"

namespace verbline::verbs {

class UmadEngine {
public:
    using Arrival = RequestTable::Expired;  ///< a message, and the file that reads it
    struct Actions {
        std::vector<Transmission> transmissions;
        std::vector<Arrival> arrivals;
    };
    static constexpr std::size_t most_assembled = 64;      ///< RMPP messages at once
    static constexpr Time assembly_timeout = 40 * second;  ///< as in the kernel, for a sender that has gone

    /// Returns the number of the agent in its file. Errors as AgentTable::add.
    Result<std::uint32_t> register_agent(FileId file, const Registration& registration);
    Result<void> unregister_agent(FileId file, std::uint32_t id);
    void close(FileId file);
    bool serves() const { return agents_.serves(); }
    bool has(FileId file, std::uint32_t agent) const { return agents_.find(file, agent) != nullptr; }

    /// A program has written a message. EINVAL: the agent's number or a length is out of range, or the same request is
    /// under way; EIO: there is no such agent.
    Result<void> write(FileId file, Outgoing message, Time now, Actions& out);
    /// A MAD was received at our queue pair `qpn`. `length`: bytes that were sent, of the 256. Returns false if no
    /// agent wants it.
    bool received(std::uint8_t qpn, const FarEnd& from, mad::MadBytes mad, std::size_t length, Time now, Actions& out);
    void tick(Time now, Actions& out);
    std::optional<Time> deadline() const;

private:
    /// An RMPP message under assembly, or done and kept for repeated segments.
    struct Assembly {
        RmppReceiver receiver;
        Time until = 0;
        bool done = false;
    };
    using AssemblyKey = std::tuple<AgentTid, std::uint64_t, wire::MadClass, wire::Lid, wire::Gid>;
    /// A received MAD on its way to an agent.
    struct Received {
        const MadAgent& agent;
        const wire::Mad header;  ///< with the transaction id that the agent knows
        const FarEnd& from;
        Time now;
    };

    void received_rmpp(const Received& arrival, mad::MadBytes mad, const wire::Rmpp& rmpp, Actions& out);
    void received_data(const Received& arrival, mad::MadBytes mad, const wire::Rmpp& rmpp, Actions& out);
    void deliver(const Received& arrival, std::vector<std::byte> message, Actions& out);
    void forget(AgentTid agent);
    static RequestKey key_of(const Received& arrival);

    AgentTable agents_;
    RequestTable requests_;
    std::map<AssemblyKey, Assembly> assemblies_;
};

}  // namespace verbline::verbs
