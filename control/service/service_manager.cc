// SPDX-License-Identifier: BSD-3-Clause
#include "control/service/service_manager.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>

namespace verbline::service {
namespace {

constexpr Time microsecond = 1000;  ///< in nanoseconds

std::optional<std::uint64_t> number(const char* text) {
    if (text == nullptr) return std::nullopt;
    const std::string_view all(text);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), value);
    if (error != std::errc() || end != all.data() + all.size()) return std::nullopt;
    return value;
}

/// An absolute path, or one behind '@': the abstract namespace, whose names begin with a zero (unix(7)).
FileDescriptor connect_to(std::string_view name) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    if (name.size() < 2 || name.size() >= sizeof address.sun_path || (name[0] != '/' && name[0] != '@')) return {};
    name.copy(static_cast<char*>(address.sun_path), name.size());
    if (name[0] == '@') address.sun_path[0] = '\0';
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    FileDescriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket || connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) return {};
    return socket;
}

/// Half of the time that the manager allows; WATCHDOG_PID says for whom.
std::optional<Time> period() {
    const auto limit = number(std::getenv("WATCHDOG_USEC"));
    const char* process = std::getenv("WATCHDOG_PID");
    if (!limit || *limit < 2 || *limit > static_cast<std::uint64_t>(INT64_MAX / microsecond)) return std::nullopt;
    if (process != nullptr && number(process) != static_cast<std::uint64_t>(getpid())) return std::nullopt;
    return static_cast<Time>(*limit / 2) * microsecond;
}

/// A value is one line.
std::string line(std::string_view name, std::string_view value) {
    auto text = fmt::format("{}={}", name, value);
    std::ranges::replace(text, '\n', ' ');
    return text;
}

}  // namespace

ServiceManager ServiceManager::from_environment() {
    ServiceManager manager;
    const char* name = std::getenv("NOTIFY_SOCKET");
    if (name == nullptr) return manager;
    manager.socket_ = connect_to(name);
    if (manager.listens()) manager.alive_period_ = period();
    return manager;
}

void ServiceManager::ready(std::string_view status) {
    send("READY=1\n" + line("STATUS", status));
}

void ServiceManager::status(std::string_view status) {
    send(line("STATUS", status));
}

void ServiceManager::reloading(Time now) {
    send(fmt::format("RELOADING=1\nMONOTONIC_USEC={}", now / microsecond));
}

void ServiceManager::stopping(std::string_view status) {
    send("STOPPING=1\n" + line("STATUS", status));
}

void ServiceManager::alive() {
    send("WATCHDOG=1");
}

/// Never waits: a manager that is slow must not stop the control thread.
void ServiceManager::send(const std::string& message) {
    if (!listens()) return;
    if (::send(socket_.get(), message.data(), message.size(), MSG_NOSIGNAL) < 0) ++lost_;
}

}  // namespace verbline::service
