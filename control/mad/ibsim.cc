// SPDX-License-Identifier: BSD-3-Clause
#include "control/mad/ibsim.h"

#include <cerrno>
#include <utility>

#include <sys/socket.h>

namespace verbline::mad {

using ibsim::bytes_of;
using ibsim::Command;
using ibsim::Control;
using ibsim::Datagram;

namespace {

constexpr std::size_t max_queued = 256;
constexpr unsigned max_round = 256;  // MADs taken from the socket before others have their turn

}  // namespace

Result<void> IbsimTransport::watch_data(bool writable) {
    data_watch_.cancel();
    auto watch = loop_.watch(
        data_,
        [this](std::uint32_t events) {
            if ((events & (EPOLLERR | EPOLLHUP)) != 0) return fabric_gone();
            if ((events & EPOLLOUT) != 0) write_queued();
            if ((events & EPOLLIN) != 0) read_data();
        },
        writable ? EPOLLIN | EPOLLOUT : EPOLLIN);
    if (!watch) return std::unexpected(watch.error());
    data_watch_ = std::move(*watch);
    return {};
}

void IbsimTransport::fabric_gone() {
    detach();
    auto facts = port();
    facts.state = wire::PortState::down;
    observe(std::move(facts));
}

void IbsimTransport::refresh() {
    if (data_ < 0) {
        [[maybe_unused]] const auto later = attach();  // or at the next refresh
        return;
    }
    if (!data_watch_ && !watch_data(!queue_.empty())) return fabric_gone();
    constexpr unsigned patience = 8;  // bounds the wait for a simulator that does not answer
    if (unanswered_ >= patience) return fabric_gone();
    for (const auto command : {Command::get_port_info, Command::get_pkeys}) {
        const auto out = bytes_of(Control{.slot = slot_, .command = command});
        const auto sent = ::send(control_, out.data(), out.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN && errno != EINTR && errno != ENOBUFS) {
            return fabric_gone();
        }
        ++unanswered_;
    }
}

void IbsimTransport::read_control() {
    std::array<std::byte, sizeof(Control)> in{};
    ssize_t size = 0;
    while ((size = ::recv(control_, in.data(), in.size(), MSG_DONTWAIT)) >= 0) {
        unanswered_ = 0;
        if (size == static_cast<ssize_t>(in.size())) take(std::bit_cast<Control>(in));
        if (control_ < 0) return;
    }
    if (errno != EAGAIN && errno != EINTR) fabric_gone();
}

void IbsimTransport::take(const Control& reply) {
    if (reply.magic != Control::expected_magic) return;
    if (reply.command == Command::get_port_info) {
        const auto info = wire::PortInfo::parse(reply.data);
        apply(*info, seen_);
        seen_.node_guid = node_guid_;
        seen_.guid = wire::Guid{static_cast<std::uint64_t>(node_guid_) + info->local_port};
    } else if (reply.command == Command::get_pkeys && seen_.state != wire::PortState::no_change) {
        seen_.pkeys.clear();
        append_pkeys(reply.data, seen_);
        observe(seen_);
    }
}

void IbsimTransport::send(const MadAddress& to, MadBytes mad, Time /*reply_within*/) {
    if (data_ < 0) return counters_.tx_errors.add();
    // A directed route begins and ends at the permissive LID (IBTA volume 1, 14.2.2); otherwise ibsim fills in ours.
    const auto from = to.lid == wire::permissive_lid ? to.lid : wire::Lid{};
    Datagram datagram{.dlid = to.lid, .slid = from, .dqpn = to.qpn, .sqpn = port().qpn};
    std::ranges::copy(mad, datagram.mad.begin());
    if (push(datagram.bytes())) sent(loop_.now(), to, mad);
}

bool IbsimTransport::push(const Datagram::Bytes& bytes) {
    if (queue_.empty()) {
        if (::send(data_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return true;
        if (errno != EAGAIN && errno != ENOBUFS) {
            counters_.tx_errors.add();  // the next refresh detects a fabric that has ended
            return false;
        }
        if (!watch_data(true)) {
            counters_.tx_errors.add();
            return false;
        }
    }
    if (queue_.size() >= max_queued) {
        counters_.tx_dropped_queue_full.add();
        return false;
    }
    queue_.push_back(bytes);
    return true;
}

void IbsimTransport::write_queued() {
    while (!queue_.empty()) {
        const auto& bytes = queue_.front();
        if (::send(data_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
            if (errno == EAGAIN || errno == ENOBUFS) return;
            counters_.tx_errors.add();
        }
        queue_.pop_front();
    }
    if (!watch_data(false)) fabric_gone();
}

void IbsimTransport::read_data() {
    for (unsigned n = 0; n < max_round && data_ >= 0; ++n) {
        std::array<std::byte, Datagram::size + 1> in;  // one more, to see what is too long
        const auto size = ::recv(data_, in.data(), in.size(), MSG_DONTWAIT);
        if (size < 0) {
            if (errno != EAGAIN && errno != EINTR) fabric_gone();
            return;
        }
        const auto datagram = Datagram::parse(std::span(in).first(static_cast<std::size_t>(size)));
        if (!datagram) {
            counters_.rx_dropped_bad_length.add();
        } else if (datagram->status != 0) {
            counters_.tx_undeliverable.add();  // a request will time out
        } else {
            deliver(loop_.now(), {.lid = datagram->slid, .qpn = datagram->sqpn}, datagram->mad, datagram->length);
        }
    }
}

}  // namespace verbline::mad
