// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A device as a program has opened it (ibv_context): its operations, and its queue of asynchronous events.

#include <atomic>
#include <memory>
#include <mutex>
#include <set>

#include <infiniband/verbs.h>

#include "apps/libibverbs/objects/abi_handle.h"
#include "apps/libibverbs/objects/async_events.h"
#include "apps/libibverbs/port/event_semaphore.h"
#include "apps/libibverbs/port/port.h"
#include "apps/libibverbs/port/program_descriptor.h"

namespace verbline::verbs {

class VerbsQueuePair;

class Context {
public:
    /// Held by each object that refers to its context.
    class Hold {
    public:
        explicit Hold(Context& context) noexcept : context_(context) { ++context_.holds_; }
        ~Hold() { --context_.holds_; }
        Hold(const Hold&) = delete;
        Hold& operator=(const Hold&) = delete;

    private:
        Context& context_;
    };

    /// EMFILE and the like.
    static Result<std::unique_ptr<Context>> open(ibv_device& device, VerbsPort& port);
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    /// For ibv_import_device: true if `cmd_fd` is a copy of the `cmd_fd` of this context.
    bool is_behind(int cmd_fd) const;

    static Context& of(ibv_context* context);
    /// False in a child, where inherited contexts are dead, and on a lost device.
    bool alive() const { return !port_.abandoned() && !port_.lost(); }

    ibv_context* abi() { return &handle_.abi.context; }
    VerbsPort& port() { return port_; }
    rdma::Device& device() { return port_.device(); }
    Progress& progress() { return port_.progress(); }
    AsyncEvents& events() { return events_; }

    // ibv_import_device shares a context; it is closed when its last user closes it.
    void share() { ++users_; }
    bool drop() { return --users_ == 0; }

    // Queue pairs created with it.
    void add(VerbsQueuePair& pair);
    void remove(VerbsQueuePair& pair);

    /// Call when the last user has closed it. Objects left behind become inert: queue pairs are reset, events are
    /// dropped. Their handles may still be destroyed; until then the context is `held`.
    void close();
    bool closed() const { return users_ == 0; }
    bool held() const { return holds_ != 0; }

private:
    struct Abi {
        verbs_context abi;
        Context* object;
    };

    Context(ibv_device& device, VerbsPort& port, ProgramDescriptor command, EventSemaphore events);

    Abi handle_{};
    VerbsPort& port_;
    ProgramDescriptor command_;
    AsyncEvents events_;
    unsigned users_ = 1;
    std::atomic<unsigned> holds_{0};
    std::mutex pairs_mutex_;
    std::set<VerbsQueuePair*> pairs_;
};

/// Fills the tables of operations. Unsupported ones stay null, for which the verbs return EOPNOTSUPP.
void set_operations(verbs_context& context);

}  // namespace verbline::verbs
