// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Accepts connections of a listening socket on a loop.
///
/// A process that is out of descriptors cannot accept, and the level-triggered loop would spin on the pending
/// connection. The acceptor then stops polling for `rest` and tries again; clients wait in the socket's backlog
/// meanwhile.

#include <functional>

#include "control/loop/loop.h"
#include "pmd/base/counter.h"
#include "pmd/base/error.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::control {

#define VERBLINE_ACCEPTOR_COUNTERS(X)                 \
    X(connections_accepted, "connections of clients") \
    X(accept_shortages, "accepts that failed for want of descriptors or memory")

struct AcceptorCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_ACCEPTOR_COUNTERS)
};

class Acceptor {
public:
    static constexpr Time rest = 200 * millisecond;

    using Accepted = std::function<void(FileDescriptor connection)>;  ///< non-blocking, close-on-exec
    using Shortage = std::function<void(int code)>;  ///< an errno; once, until a connection has been accepted again

    /// Callbacks come from the loop, which outlives the acceptor. They must not destroy it.
    Acceptor(Loop& loop, Accepted accepted, Shortage shortage)
        : loop_(loop), accepted_(std::move(accepted)), shortage_(std::move(shortage)) {}
    Acceptor(const Acceptor&) = delete;
    Acceptor& operator=(const Acceptor&) = delete;

    /// Takes a non-blocking listening socket and starts accepting. On error the acceptor is unchanged.
    Result<void> start(FileDescriptor listener);

    const AcceptorCounters& counters() const { return counters_; }

private:
    Result<void> watch();
    void accept();
    void look_away();

    Loop& loop_;
    const Accepted accepted_;
    const Shortage shortage_;
    FileDescriptor listener_;
    Watch watch_;
    Timer again_;
    bool short_ = false;  ///< out of descriptors, and reported
    AcceptorCounters counters_;
};

}  // namespace verbline::control
