// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A hub's server: one connection per client; the client's lane lives as long as its connection.
///
///     hub.sock ──> Session, per client ──> Registry: assignments
///                     │ join, end, group, ports, direct links
///                     └──────────────────> LaneHost: makes lanes, closes them
///
/// Runs on the control thread's loop. No client can block it or monopolize it: one message of a client is served per
/// poll of its connection.

#include <cerrno>
#include <map>
#include <memory>
#include <string>

#include "control/hub/registry.h"
#include "control/hub/xrc_host.h"
#include "control/hub/xrc_registry.h"
#include "control/loop/acceptor.h"
#include "control/loop/loop.h"
#include "pmd/base/counter.h"
#include "pmd/base/error.h"
#include "pmd/base/file_descriptor.h"
#include "pmd/base/socket_file.h"
#include "pmd/base/tunables.h"

namespace verbline::hub {

class SubnetHost;

/// Owner of the switch's devices, which opens and closes lanes. Called on the control thread.
class LaneHost {
public:
    virtual ~LaneHost() = default;
    /// Opens the lane and returns the path of its memif socket, which already accepts clients.
    virtual Result<std::string> open_lane(LaneId lane, const Registry::Tenant& tenant) = 0;
    virtual void close_lane(LaneId lane) = 0;
    /// Joins the group, or leaves it. The client is told of an error.
    virtual Result<void> set_group(LaneId lane, const GroupMembership& group) = 0;
    /// The next hop's MAC address, of a node. EINPROGRESS: it is being resolved.
    virtual Result<wire::MacAddress> resolve(const Resolve& /*wanted*/) {
        return failure(EOPNOTSUPP, "a hub's programs resolve themselves");
    }
    /// Null: members share no XRC targets. Outlives the server.
    virtual XrcHost* xrc() { return nullptr; }
    /// Null: the port is on no soft fabric. Outlives the server.
    virtual SubnetHost* subnet() { return nullptr; }
};

#define VERBLINE_HUB_DIRECT_COUNTERS(X)                                        \
    X(direct_granted, "pairs of programs that were given a link of their own") \
    X(direct_refused, "requests for direct links that were refused")

struct DirectCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_HUB_DIRECT_COUNTERS)
};

class Server {
public:
    static constexpr Time join_limit = tunables::hub_join_limit;  ///< how long a connection may last without a lane
    static constexpr std::size_t max_strangers =
        tunables::hub_strangers;  ///< connections without a lane at the same time
    /// Send buffer, in bytes as the kernel counts them, for a client that does not read: some tens of messages, each
    /// with a descriptor that counts against the hub user's limit.
    static constexpr int most_unread = 32 * 1024;

    /// EADDRINUSE if a hub of this name runs. `host` and `loop` outlive the server.
    static Result<std::unique_ptr<Server>> open(control::Loop& loop, const RegistrySetup& setup, std::uint16_t mtu,
                                                LaneHost& host);
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    /// Hangs up on all clients and closes their lanes.
    ~Server();

    const Registry& registry() const { return registry_; }
    Registry& registry() { return registry_; }
    const control::AcceptorCounters& counters() const { return acceptor_.counters(); }
    const DirectCounters& direct_counters() const { return counters_; }

    /// Of a node on a soft fabric: its port's MAC address is another, for who joins from now on.
    void set_mac(const wire::MacAddress& mac);
    /// Of a node: the addresses of its port have changed, and its members are told.
    void set_addresses(const std::vector<InterfaceAddress>& addresses);
    /// Of a node, a few times a second: tells members of XRC targets that have failed.
    void look_after_xrc();
    const XrcRegistry& xrc() const { return xrc_; }
    /// Of a node on a soft fabric: tells a member what it has asked for, and all of them that the port has changed.
    void tell_subnet(LaneId member, const Message& what);
    void tell_subnet_port();

private:
    struct Session;
    using SessionId = std::uint64_t;

    Server(control::Loop& loop, const RegistrySetup& setup, std::uint16_t mtu, LaneHost& host);
    Result<void> listen();
    void accept(FileDescriptor fd);
    void end_late();
    void end_gone();
    void read(SessionId id);
    /// False: close the connection.
    bool serve(Session& session, const Message& message);
    bool serve(Session& session, const Join& join);
    bool serve(Session& session, const GroupMembership& group);
    bool serve(Session& session, const Reserve& wanted);
    bool serve(Session& session, const Rebind& wanted);
    bool serve(Session& session, const Release& port);
    bool may_bind(const Session& session, const PortUse& use) const;
    bool serve(Session& session, const Resolve& wanted);
    bool serve(Session& session, const Direct& wanted);
    bool serve(Session& session, const DirectEnd& over);
    int introduce(Session& asker, DirectId link);
    bool serve_node(Session& session, const Message& message);
    bool serve_member(Session& session, const OpenXrcDomain& how);
    bool serve_member(Session& session, const CloseXrcDomain& which);
    bool serve_member(Session& session, const CreateXrcTarget& wanted);
    bool serve_member(Session& session, const OpenXrcTarget& wanted);
    bool serve_member(Session& session, const CloseXrcTarget& which);
    bool serve_member(Session& session, const XrcTarget& wanted);
    bool serve_member(Session& session, const XrcTargetTaken& taken);
    bool serve_member(Session& session, const FindNeighbour& wanted);
    bool serve_member(Session& session, const FindPath& wanted);
    bool serve_member(Session& session, const JoinSubnetGroup& wanted);
    bool serve_member(Session& session, const LeaveSubnetGroup& which);
    std::size_t targets_of_user(LaneId member) const;
    void leave_xrc(LaneId member);
    void end_targets(const std::vector<XrcTarget>& gone);
    void tell_domain(const XrcTarget& target, std::optional<LaneId> but);
    bool tell_subnet_port(const Session& session) const;
    static void tell(Session& session, const XrcTarget& target);
    static void tell_rest(Session& session);
    static bool say(const Session& session, const Message& message);
    void end(SessionId id);

    control::Loop& loop_;
    std::string name_;
    std::uint16_t mtu_;
    LaneHost& host_;
    Registry registry_;
    XrcRegistry xrc_;
    control::Acceptor acceptor_;
    SocketFile file_;  ///< path of the listening socket
    control::Timer timer_;
    std::map<SessionId, Session> sessions_;
    SessionId last_id_ = 0;
    DirectCounters counters_;
};

}  // namespace verbline::hub
