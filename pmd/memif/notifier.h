// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Signals an eventfd of another process without ever blocking.
///
/// write(2) to an eventfd blocks while its counter is full, unless O_NONBLOCK is set; that flag belongs to the open
/// file description, so the process that we share it with can clear it and fill the counter at any moment. A completion
/// of asynchronous I/O (IOCB_FLAG_RESFD) signals from within the kernel instead, which saturates and does not block.

#include <cstdint>

#include <linux/aio_abi.h>

#include "pmd/base/event_descriptor.h"

namespace verbline::pmd::memif {

/// Whether the kernel says that it is an eventfd. False, too, without a mounted /proc.
bool is_eventfd(int fd);

/// Any thread, also several at a time. Slow to destroy (tens of milliseconds): share one between devices.
class Notifier {
public:
    Notifier();
    Notifier(const Notifier&) = delete;
    Notifier& operator=(const Notifier&) = delete;
    ~Notifier();

    /// False: the kernel has no asynchronous I/O, or no contexts left. `notify` then asks whether there is room in the
    /// counter before it writes, and a peer that fills it in between can block us.
    bool asynchronous() const { return context_ != 0; }

    /// `eventfd` is one (`is_eventfd`). Does nothing to a counter that is full, whose reader has been told.
    void notify(int eventfd) const noexcept;

private:
    bool submit(int eventfd) const noexcept;

    EventDescriptor always_ready_;  ///< our own, that nobody else has: the operation that completes at once
    aio_context_t context_ = 0;
};

/// By `notifier`; without one by a plain write, for eventfds whose other holders are trusted not to make it block.
void signal_eventfd(int eventfd, const Notifier* notifier) noexcept;

}  // namespace verbline::pmd::memif
