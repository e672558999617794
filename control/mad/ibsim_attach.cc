// SPDX-License-Identifier: BSD-3-Clause
// Attaching to a simulated fabric, and detaching. ibsim.cc has the rest.
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <functional>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>

#include "control/mad/ibsim.h"
#include "pmd/base/clock.h"

namespace verbline::mad {

using ibsim::bytes_of;
using ibsim::Command;
using ibsim::Control;
using ibsim::Datagram;

namespace {

constexpr Time reply_patience = second;  // attaching only; afterwards nothing waits
constexpr std::uint32_t ports_per_host = 16;
constexpr std::uint32_t first_id = 0x1000'0000;  // above every process id, which libumad2sim uses
constexpr std::uint32_t first_qpn = 0x1000;
constexpr std::uint32_t self_tid = 0x5e1f'0000;

struct SocketName {
    sockaddr_un address{};
    socklen_t length = 0;
};

SocketName socket_name(const std::string& name) {
    SocketName n;
    n.address.sun_family = AF_UNIX;  // a leading NUL in sun_path: the abstract namespace, nothing left on disk
    std::memcpy(n.address.sun_path + 1, name.data(), name.size());
    n.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size() + 1);
    return n;
}

bool bind_to(int fd, const std::string& name) {
    const auto n = socket_name(name);
    return ::bind(fd, reinterpret_cast<const sockaddr*>(&n.address), n.length) == 0;
}

bool connect_to(int fd, const std::string& name) {
    const auto n = socket_name(name);
    return ::connect(fd, reinterpret_cast<const sockaddr*>(&n.address), n.length) == 0;
}

bool readable(int fd, Time patience) {
    const auto end = monotonic_now() + patience;
    for (;;) {
        pollfd p{.fd = fd, .events = POLLIN, .revents = 0};
        const auto left = std::max<Time>(end - monotonic_now(), 0);
        const int ready = ::poll(&p, 1, static_cast<int>((left + millisecond - 1) / millisecond));
        if (ready >= 0 || errno != EINTR) return ready == 1;
    }
}

}  // namespace

IbsimTransport::IbsimTransport(std::string fabric, std::string host, control::Loop& loop)
    : fabric_(std::move(fabric)),
      host_(std::move(host)),
      spec_(fmt::format("ibsim:{},host={}", fabric_, host_)),
      loop_(loop) {}

IbsimTransport::~IbsimTransport() {
    detach();
}

Result<std::unique_ptr<IbsimTransport>> IbsimTransport::open(const std::string& fabric, const std::string& host,
                                                             control::Loop& loop) {
    // ":ctl" and ten digits more must fit into a socket name of 107 bytes.
    if (fabric.empty() || fabric.size() > 90) return failure(EINVAL, "an ibsim fabric's name has 1 to 90 bytes");
    if (host.empty() || host.size() > ibsim::max_host_name) {
        return failure(EINVAL, fmt::format("an ibsim host's name has 1 to {} bytes", ibsim::max_host_name));
    }
    std::unique_ptr<IbsimTransport> transport(new IbsimTransport(fabric, host, loop));
    if (auto attached = transport->attach(); !attached) return std::unexpected(attached.error());
    return transport;
}

Result<void> IbsimTransport::attach() {
    for (const auto step : {&IbsimTransport::open_sockets, &IbsimTransport::take_name, &IbsimTransport::connect_slot,
                            &IbsimTransport::look, &IbsimTransport::watch_sockets}) {
        if (auto done = (this->*step)(); !done) {
            detach();
            return done;
        }
    }
    return {};
}

void IbsimTransport::detach() {
    control_watch_.cancel();
    data_watch_.cancel();
    if (slot_ != UINT32_MAX && control_ >= 0) {
        const auto bye = bytes_of(Control{.slot = slot_, .command = Command::disconnect});
        [[maybe_unused]] const auto n = ::send(control_, bye.data(), bye.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    if (control_ >= 0) ::close(std::exchange(control_, -1));
    if (data_ >= 0) ::close(std::exchange(data_, -1));
    slot_ = UINT32_MAX;
    queue_.clear();
    unanswered_ = 0;
}

void IbsimTransport::abandon() {
    for (auto* const fd : {&control_, &data_}) {
        if (*fd >= 0) ::close(std::exchange(*fd, -1));
    }
}

Result<void> IbsimTransport::open_sockets() {
    slot_ = UINT32_MAX;
    control_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    data_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (control_ < 0 || data_ < 0) return failure(errno, fmt::format("cannot open a socket: {}", std::strerror(errno)));
    if (connect_to(control_, fabric_ + ":ctl")) return {};
    return failure(ENOENT,
                   fmt::format("no ibsim fabric named '{0}' is running: start ibsim with IBSIM_SOCKNAME={0}", fabric_));
}

Result<void> IbsimTransport::take_name() {
    // The same ids for the same host, so that a successor takes its dead predecessor's.
    const auto base = first_id + static_cast<std::uint32_t>(std::hash<std::string>{}(host_) & 0xffff) * ports_per_host;
    for (std::uint32_t n = 0; n < ports_per_host; ++n) {
        if (!bind_to(data_, fmt::format("{}:in{}", fabric_, base + n))) continue;  // taken by a living process
        if (!bind_to(control_, fmt::format("{}:ctl{}", fabric_, base + n))) break;
        id_ = base + n;
        return {};
    }
    return failure(EADDRINUSE,
                   fmt::format("too many processes are attached to host '{}' of ibsim fabric '{}'", host_, fabric_));
}

Result<void> IbsimTransport::connect_slot() {
    const auto connect = [&](std::string_view host) {
        ibsim::Connect request{.id = id_, .qpn = first_qpn + id_ % ports_per_host};
        std::ranges::copy(host, request.host.begin());
        return ask(Command::connect, bytes_of(request));
    };
    const auto slot_of = [](const Control& reply) {
        std::uint32_t slot = 0;
        std::memcpy(&slot, reply.data.data(), sizeof slot);
        return slot;
    };
    auto reply = connect(host_);
    if (!reply) return std::unexpected(reply.error());
    if (reply->command == Command::connect) {
        slot_ = slot_of(*reply);
        if (slot_ < ibsim::max_clients && connect_to(data_, fmt::format("{}:out{}", fabric_, slot_))) return {};
        return failure(EPROTO, fmt::format("ibsim fabric '{}' gave a slot that cannot be used", fabric_));
    }
    // ibsim gives no reason for a refusal. Where any host will do, only a lack of slots can refuse us.
    reply = connect("");
    if (!reply || reply->command != Command::connect) {
        return failure(EBUSY, fmt::format("ibsim fabric '{}' is full: it serves {} processes; end one, or free a dead "
                                          "one's slot with `attached` and `X n` on ibsim's console",
                                          fabric_, ibsim::max_clients));
    }
    slot_ = slot_of(*reply);  // detach gives it back
    return failure(ENOENT,
                   fmt::format("ibsim fabric '{}' has no host '{}': look into its topology file", fabric_, host_));
}

Result<Control> IbsimTransport::ask(Command command, std::span<const std::byte> data) {
    Control request{
        .slot = slot_ == UINT32_MAX ? 0 : slot_, .command = command, .length = static_cast<std::uint32_t>(data.size())};
    std::ranges::copy(data, request.data.begin());
    const auto out = bytes_of(request);
    std::array<std::byte, sizeof(Control)> in{};
    if (::send(control_, out.data(), out.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(out.size())) {
        for (const Time end = loop_.now() + reply_patience; readable(control_, end - loop_.now());) {
            const auto size = ::recv(control_, in.data(), in.size(), 0);
            if (size < 0 && (errno == EINTR || errno == EAGAIN)) continue;
            if (size != static_cast<ssize_t>(in.size())) break;
            const auto reply = std::bit_cast<Control>(in);
            if (reply.command == command || reply.command == Command::error) return reply;
        }
    }
    return failure(ETIMEDOUT, fmt::format("ibsim fabric '{}' does not answer: is the simulator stopped", fabric_));
}

Result<void> IbsimTransport::look() {
    const auto info = ask(Command::get_node_info, {});
    if (!info) return std::unexpected(info.error());
    node_guid_ = wire::Guid{wire::load64(info->data, 12)};  // NodeInfo:NodeGUID, IBTA 14.2.5.3
    seen_ = PortFacts{.qpn = wire::Qpn{first_qpn + id_ % ports_per_host}};
    for (const auto command : {Command::get_port_info, Command::get_pkeys}) {
        const auto reply = ask(command, {});
        if (!reply) return std::unexpected(reply.error());
        take(*reply);
    }
    free_stale_slots();
    return {};
}

Result<void> IbsimTransport::watch_sockets() {
    auto watch = loop_.watch(control_, [this](std::uint32_t) { read_control(); });
    if (!watch) return std::unexpected(watch.error());
    control_watch_ = std::move(*watch);
    return watch_data(false);
}

void IbsimTransport::free_stale_slots() {
    if (port().lid == wire::Lid{}) return;  // not routable yet
    for (std::uint32_t n = 0; n < ibsim::max_clients; ++n) {
        Datagram probe{.dlid = port().lid, .dqpn = port().qpn, .sqpn = port().qpn};
        wire::Mad{.management_class = wire::MadClass{0x09},  // a vendor's: nothing in the fabric serves it
                  .method = wire::MadMethod::send,
                  .transaction = self_tid + n}
            .emit(std::span(probe.mad).first<wire::Mad::size>());
        const auto out = probe.bytes();
        if (::send(data_, out.data(), out.size(), MSG_NOSIGNAL) < 0) return;
        for (;;) {
            if (!readable(data_, 200 * millisecond)) return;
            Datagram::Bytes in;
            const auto size = ::recv(data_, in.data(), in.size(), 0);
            if (size < 0) return;
            const auto back = Datagram::parse(std::span(in).first(static_cast<std::size_t>(size)));
            if (!back || wire::load32(back->mad, 12) != self_tid + n) continue;  // for our predecessor
            if (back->status == 0) return;  // it reached us: no dead client has our QPN
            break;
        }
    }
}

}  // namespace verbline::mad
