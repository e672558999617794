// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A device as a program has opened it (ibv_context): its operations, and its queue of asynchronous events.

#include <memory>

#include <infiniband/verbs.h>

#include "apps/verbs/objects/async_events.h"
#include "apps/verbs/objects/face.h"
#include "apps/verbs/port/port.h"

namespace verbline::verbs {

class Context {
public:
    /// EMFILE and the like.
    static Result<std::unique_ptr<Context>> open(ibv_device& device, Port& port);
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    /// The context's name across processes' descriptors, for ibv_import_device: who has a copy of `cmd_fd` of it.
    bool is_behind(int cmd_fd) const;

    static Context& of(ibv_context* context);
    /// Not in the child of a fork, which inherits contexts that nothing is behind any more.
    bool alive() const { return !port_.abandoned(); }

    ibv_context* abi() { return &face_.abi.context; }
    Port& port() { return port_; }
    rdma::Device& device() { return port_.device(); }
    Progress& progress() { return port_.progress(); }
    AsyncEvents& events() { return events_; }

    // ibv_import_device shares a context; it is closed when its last user closes it.
    void share() { ++users_; }
    bool drop() { return --users_ == 0; }

private:
    struct Abi {
        verbs_context abi;
        Context* object;
    };

    Context(ibv_device& device, Port& port, FileDescriptor command, FileDescriptor events);

    Abi face_{};
    Port& port_;
    FileDescriptor command_;
    AsyncEvents events_;
    unsigned users_ = 1;
};

/// Fills the tables of operations; what we do not have stays null, which the verbs answer EOPNOTSUPP for.
void set_operations(verbs_context& context);

}  // namespace verbline::verbs
