// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One open file of a umad device: the messages that the program has yet to read. Its descriptor is readable while
/// there are some.
///
/// Threads: any. Errors are errno values.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "apps/libibverbs/port/readiness.h"
#include "apps/libibverbs/umad/agent_table.h"
#include "apps/libibverbs/umad/message.h"

namespace verbline::verbs {

class UmadPort;

class UmadFile {
public:
    static constexpr std::size_t most_queued = 65536;  ///< messages; further ones are lost, and counted

    UmadFile(std::unique_ptr<Readiness> readiness, std::shared_ptr<UmadPort> port, FileId id)
        : readiness_(std::move(readiness)), port_(std::move(port)), id_(id) {}
    UmadFile(const UmadFile&) = delete;
    UmadFile& operator=(const UmadFile&) = delete;

    int descriptor() const { return readiness_->descriptor(); }
    Readiness& readiness() const { return *readiness_; }
    bool intact() const { return readiness_->intact(); }
    bool intact(Time now) const { return readiness_->intact(now); }
    UmadPort& port() const { return *port_; }
    FileId id() const { return id_; }

    void queue(Incoming message);
    /// Number of messages lost because the program had `most_queued` to read.
    std::uint64_t messages_lost() const { return messages_lost_.load(std::memory_order_relaxed); }
    /// Drops the messages of an agent that is no more.
    void drop(std::uint32_t agent);
    /// Copies one message, with its header, to `address`, at most `room` bytes. EAGAIN: there is none; EINVAL, ENOSPC,
    /// EFAULT: as the kernel, and the message stays.
    Result<std::size_t> take(std::uint64_t address, std::size_t room);

    HeaderLayout layout() const { return layout_.load(std::memory_order_relaxed); }
    /// IB_USER_MAD_ENABLE_PKEY. EINVAL: too late, the file has been used.
    Result<void> enable_pkey();
    void use() { used_.store(true, std::memory_order_relaxed); }

    /// In the child after fork: nobody serves the file.
    void abandon() { abandoned_ = true; }
    bool abandoned() const { return abandoned_; }

    UmadFile* next_closing = nullptr;  ///< list of those that UmadDevice is to close

private:
    void settle();
    Result<std::size_t> copy(const Incoming& message, std::uint64_t address, std::size_t room) const;

    const std::unique_ptr<Readiness> readiness_;
    const std::shared_ptr<UmadPort> port_;
    const FileId id_;
    std::mutex mutex_;  ///< of the queue
    std::deque<Incoming> messages_;
    std::atomic<std::uint64_t> messages_lost_{0};  ///< changed with `mutex_` held
    std::atomic<HeaderLayout> layout_{HeaderLayout::old};
    std::atomic<bool> used_{false};
    bool abandoned_ = false;
};

}  // namespace verbline::verbs
