// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Signals an eventfd of another process without ever blocking.
///
/// write(2) to an eventfd blocks while its counter is full, unless O_NONBLOCK is set; that flag belongs to the open
/// file description, so the process that shares it can clear it and fill the counter at any moment. A completion of
/// asynchronous I/O (IOCB_FLAG_RESFD) signals from within the kernel instead, which saturates and does not block.

#include <cstdint>

#include <linux/aio_abi.h>

#include "pmd/base/event_descriptor.h"

namespace verbline::pmd::memif {

/// Whether `fd` is an eventfd, according to /proc; also false if /proc is not mounted.
bool is_eventfd(int fd);

/// Any thread, also several at a time. Slow to destroy (tens of milliseconds): share one between devices.
class Notifier {
public:
    Notifier();
    Notifier(const Notifier&) = delete;
    Notifier& operator=(const Notifier&) = delete;
    ~Notifier();

    /// Signals `eventfd`, which must be one (`is_eventfd`). A full counter is left as it is: its reader is signalled
    /// already. If the kernel has no asynchronous I/O, or no contexts left, this checks for room in the counter before
    /// it writes, and a peer that fills it in between can block the caller.
    void notify(int eventfd) const noexcept;

private:
    bool submit(int eventfd) const noexcept;

    EventDescriptor always_ready_;  ///< not shared with any process: target of the operation that completes at once
    aio_context_t context_ = 0;
};

/// Signals `eventfd` by `notifier`, or if null by a plain write, which requires that its other holders are trusted not
/// to make it block.
void signal_eventfd(int eventfd, const Notifier* notifier) noexcept;

}  // namespace verbline::pmd::memif
