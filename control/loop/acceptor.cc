// SPDX-License-Identifier: BSD-3-Clause
#include "control/loop/acceptor.h"

#include <cerrno>
#include <utility>

#include <sys/socket.h>

namespace verbline::control {
namespace {

/// accept(2) failed because of this client only, or no client is pending.
bool passing(int code) {
    return code == EAGAIN || code == EINTR || code == ECONNABORTED;
}

}  // namespace

Result<void> Acceptor::start(FileDescriptor listener) {
    std::swap(listener_, listener);
    auto watched = watch();
    if (!watched) std::swap(listener_, listener);
    return watched;
}

Result<void> Acceptor::watch() {
    auto watch = loop_.watch(listener_.get(), [this](std::uint32_t) { accept(); });
    if (!watch) return std::unexpected(std::move(watch.error()));
    watch_ = std::move(*watch);
    return {};
}

void Acceptor::accept() {
    FileDescriptor connection(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (connection) {
        short_ = false;
        counters_.connections_accepted.add();
        return accepted_(std::move(connection));
    }
    const int code = errno;
    if (passing(code)) return;
    counters_.accept_shortages.add();
    look_away();
    if (!std::exchange(short_, true)) shortage_(code);
}

void Acceptor::look_away() {
    watch_.cancel();
    again_ = loop_.after(rest, [this] {
        if (!watch()) look_away();
    });
}

}  // namespace verbline::control
