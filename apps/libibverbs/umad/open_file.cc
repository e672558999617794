// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/umad/open_file.h"

#include <cerrno>

#include "apps/libibverbs/ucma/user_memory.h"

namespace verbline::verbs {

void UmadFile::settle() {
    readiness_->settle([this] {
        const std::scoped_lock lock(mutex_);
        return !messages_.empty();
    });
}

void UmadFile::queue(Incoming message) {
    {
        const std::scoped_lock lock(mutex_);
        if (messages_.size() >= most_queued) {
            messages_lost_.fetch_add(1, std::memory_order_relaxed);
            return;
        }
        messages_.push_back(std::move(message));
    }
    settle();
}

void UmadFile::drop(std::uint32_t agent) {
    {
        const std::scoped_lock lock(mutex_);
        std::erase_if(messages_, [&](const Incoming& message) { return message.agent == agent; });
    }
    settle();
}

Result<std::size_t> UmadFile::copy(const Incoming& message, std::uint64_t address, std::size_t room) const {
    const auto header = header_of(message, layout());
    const auto size = header_size(layout());
    const auto fits = readable(message, room, layout());
    if (fits.error == EINVAL) return failure(EINVAL, "no room for a MAD");
    if (auto done = write_user(address, std::span(header).first(size)); !done) return std::unexpected(done.error());
    if (auto done = write_user(address + size, std::span(message.mad).first(fits.bytes)); !done)
        return std::unexpected(done.error());
    if (fits.error != 0) return failure(fits.error, "no room for the message");
    return size + fits.bytes;
}

Result<std::size_t> UmadFile::take(std::uint64_t address, std::size_t room) {
    if (room < header_size(layout())) return failure(EINVAL, "no room for a header");
    Result<std::size_t> taken = failure(EAGAIN, "nothing to read");
    {
        const std::scoped_lock lock(mutex_);
        if (messages_.empty()) return taken;
        taken = copy(messages_.front(), address, room);
        if (taken) messages_.pop_front();
    }
    settle();
    return taken;
}

Result<void> UmadFile::enable_pkey() {
    if (used_.load(std::memory_order_relaxed)) return failure(EINVAL, "the file has been used");
    layout_.store(HeaderLayout::with_pkey, std::memory_order_relaxed);
    return {};
}

}  // namespace verbline::verbs
