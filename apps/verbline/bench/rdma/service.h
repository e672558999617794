// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// How the ends of a test find each other: service ID resolution (IBTA volume 1, 12.11) over QP1, by a service id of
/// the connection manager's port spaces (annex A11). It works on every link: of a node too, whose QP1 passes on
/// messages of the connection manager alone, and where a service is a member's that has reserved its port number.
///
///     client ── SIDR_REQ, again and again ──> server
///            <──────── SIDR_REP: QPN, Q_Key ──          of its queue pair for messages (channel.h)
///
/// Used by the thread that polls the port.

#include <cstdint>
#include <functional>
#include <memory>

#include "apps/verbline/bench/rdma/port.h"
#include "control/mad/gsi.h"
#include "datapath/rdma/datagrams.h"

namespace verbline::rdma_bench {

/// The end of a test that messages go to and come from.
using Peer = rdma::Datagrams::Destination;

/// Whether it is the same process: on a node many share the address.
inline bool is_same(const Peer& one, const Peer& other) {
    const auto &here = one.path.address, &there = other.path.address;
    return here.dgid == there.dgid && here.dlid == there.dlid && one.qpn == other.qpn;
}

/// How long an end waits for the other, and how often it repeats what is not answered.
constexpr Time patience = 10 * second, repeat_after = 100 * millisecond;

/// Called again and again while an end waits; a failure ends that.
using Work = std::function<Result<void>(Time now)>;

/// The server's side, as long as it lives.
class Service {
public:
    /// Answers that messages go to `qpn`, with `qkey`. `number`: the service's port number. EADDRINUSE: another program
    /// of the node has it.
    static Result<std::unique_ptr<Service>> create(Port& port, std::uint16_t number, wire::Qpn qpn, wire::QKey qkey);
    /// Answers what has come since the last call.
    void serve();

private:
    Service(wire::CmServiceId id, wire::Qpn qpn, wire::QKey qkey) : id_(id), qpn_(qpn), qkey_(qkey) {}
    void answer(const mad::GmpArrival& arrival);

    const wire::CmServiceId id_;
    const wire::Qpn qpn_;
    const wire::QKey qkey_;
    bool arrived_ = false;
    std::unique_ptr<mad::Gsi> gsi_;
};

/// The client's side: the server's queue pair for messages. "No such service" is no answer, since the server may be
/// about to start. ETIMEDOUT: no answer. What `work` says, else.
Result<Peer> find_service(Port& port, std::uint16_t number, const rdma::Path& server, const Work& work);

}  // namespace verbline::rdma_bench
