// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbs/rdma_cm/port_network.h"

#include <algorithm>
#include <cerrno>
#include <random>
#include <utility>
#include <vector>

#include <sys/eventfd.h>
#include <unistd.h>

#include <fmt/format.h>

#include "apps/verbs/abi/convert.h"
#include "datapath/wire/text.h"
#include "pmd/clock.h"

namespace verbline::verbs {
namespace {

constexpr Time neighbour_limit = 3 * second;  ///< RFC 4861, 10: three solicitations, a second apart
constexpr Time ask_interval = second;
constexpr std::uint8_t rate_100_gigabits = 16;  ///< coded, as usual_gigabits

link::GidType type_of(const Port& port) {
    return port.infiniband() ? link::GidType::ib : link::GidType::roce_v2;
}

std::uint64_t random_seed() {
    std::random_device random;
    return std::uint64_t{random()} << 32 | random();
}

}  // namespace

PortNetwork::PortNetwork(Port& port, Surroundings around, FileDescriptor arrivals)
    : port_(port), around_(std::move(around)), arrivals_(std::move(arrivals)) {}

Result<FileDescriptor> PortNetwork::make_arrivals(const Port& port) {
    FileDescriptor arrivals(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!arrivals) return failure(errno, fmt::format("{}: no descriptor for its MADs", port.name()));
    return arrivals;
}

Result<std::unique_ptr<PortNetwork>> PortNetwork::create(Port& port, Surroundings around) {
    auto arrivals = make_arrivals(port);
    if (!arrivals) return std::unexpected(arrivals.error());
    std::unique_ptr<PortNetwork> network(new PortNetwork(port, std::move(around), std::move(*arrivals)));
    if (auto started = network->start(); !started) return std::unexpected(started.error());
    return network;
}

Result<void> PortNetwork::start() {
    const auto gsi = port_.gsi();
    if (!gsi) return std::unexpected(gsi.error());
    gsi_ = *gsi;
    const auto own_index = [this](const wire::Gid& gid) { return gid_index(gid, type_of(port_)); };
    const auto elsewhere = [this](wire::CmServiceId service) {
        const auto bound = rdmacm::port_of(service);
        return bound && port_.ports().elsewhere(std::to_underlying(bound->first), bound->second);
    };
    manager_ = cm::Manager::create({.ca_guid = port_.guid(),
                                    .seed = random_seed(),
                                    .on_ready = around_.on_ready,
                                    .gid_index = own_index,
                                    .shared = port_.link().shared(),
                                    .elsewhere = elsewhere},
                                   *gsi_);
    gsi_->receive(wire::MadClass::communication, [this](const mad::GmpPeer& from, mad::MadBytes mad) {
        manager_->receive(from, mad, monotonic_now());
    });
    port_.on_next_hop(
        [this] { around_.later([this] { around_.with_service([this] { look_for_neighbours(monotonic_now()); }); }); });
    gsi_->on_ready([descriptor = arrivals_.get()] {
        const std::uint64_t one = 1;
        std::ignore = write(descriptor, &one, sizeof one);
    });
    return {};
}

PortNetwork::~PortNetwork() {
    if (gsi_ == nullptr) return;
    port_.on_next_hop({});
    gsi_->on_ready({});
    gsi_->receive(wire::MadClass::communication, {});
}

void PortNetwork::receive() {
    std::uint64_t count = 0;
    std::ignore = read(arrivals_.get(), &count, sizeof count);
    gsi_->drain();
}

void PortNetwork::tick(Time now) {
    manager_->tick(now);
    if (now >= look_again_) look_for_neighbours(now);
}

/// Who is told may ask for another one, or take back what it asked for.
void PortNetwork::look_for_neighbours(Time now) {
    const bool ask = now >= look_again_;
    if (ask) look_again_ = now + ask_interval;
    std::vector<std::pair<Ticket, std::optional<wire::MacAddress>>> answers;
    for (const auto& [ticket, waiting] : waiting_) {
        const auto mac = port_.next_hop(waiting.gid_index, waiting.to);
        if (mac || now >= waiting.until)
            answers.emplace_back(ticket, mac);
        else if (ask)
            port_.ask_next_hop(waiting.gid_index, waiting.to);
    }
    for (const auto& [ticket, mac] : answers) answer(ticket, mac);
}

void PortNetwork::answer(Ticket ticket, std::optional<wire::MacAddress> mac) {
    const auto waiting = waiting_.extract(ticket);
    if (!waiting) return;
    const auto& [gid_index, to, until, handler] = waiting.mapped();
    if (mac) return handler(Neighbour{.mac = *mac, .gid = to});
    handler(failure(EHOSTUNREACH, fmt::format("{}: nobody answers for {}", port_.name(), wire::to_string(to))));
}

std::optional<Time> PortNetwork::deadline() const {
    auto due = manager_->deadline();
    if (!waiting_.empty()) due = due ? std::min(*due, look_again_) : look_again_;
    return due;
}

void PortNetwork::counters(const CounterVisitor& visit) const {
    manager_->counters(visit);
    gsi_->counters(visit);
}

rdmacm::NetworkPort::Facts PortNetwork::facts() const {
    const auto& link = port_.link();
    const auto& gids = port_.gids();
    const auto pkeys = link.fabric.pkeys;
    return {.name = port_.name(),
            .device_index = port_.index(),
            .guid = port_.guid(),
            .kind = port_.infiniband() ? link::GidTable::Kind::ib : link::GidTable::Kind::roce,
            .addresses = link.addresses,
            .ifindex = link.ifindex,
            .port_gid = gids.at(0) != nullptr ? gids.at(0)->gid : wire::Gid{},
            .lid = link.fabric.lid,
            .pkey = pkeys.empty() ? wire::PKey{0xffff} : pkeys.front(),
            .mtu = static_cast<std::uint8_t>(to_mtu(port_.device().max_mtu())),
            .rate = rate_100_gigabits,
            .active = port_.active()};
}

std::optional<unsigned> PortNetwork::gid_index(const wire::Gid& gid, link::GidType type) const {
    const auto found = port_.gids().find(gid, type, std::nullopt);
    return found ? std::optional(static_cast<unsigned>(*found)) : std::nullopt;
}

void PortNetwork::find_neighbour(Ticket ticket, const wire::Gid& from, const wire::Gid& to, NeighbourHandler handler) {
    const auto index = gid_index(from, type_of(port_));
    if (!index) return handler(failure(EADDRNOTAVAIL, "no address of ours"));
    if (const auto mac = port_.next_hop(*index, to)) return handler(Neighbour{.mac = *mac, .gid = to});
    const auto now = monotonic_now();
    port_.ask_next_hop(*index, to);
    if (waiting_.empty()) look_again_ = now + ask_interval;
    waiting_.emplace(
        ticket, Waiting{.gid_index = *index, .to = to, .until = now + neighbour_limit, .handler = std::move(handler)});
}

/// The soft fabric's paths are the subnet administrator's to tell.
void PortNetwork::find_path(Ticket, const wire::Gid&, wire::PKey, PathHandler handler) {
    handler(failure(ENOSYS, fmt::format("{}: paths of a fabric cannot be found yet; use a RoCE link", port_.name())));
}

/// A hub is asked for the group, which takes a while: not with the service held.
void PortNetwork::join(Ticket ticket, const rdmacm::GroupRequest& request, GroupHandler handler) {
    if (port_.infiniband()) {
        return handler(failure(ENOSYS, fmt::format("{}: groups of a fabric cannot be joined yet", port_.name())));
    }
    joining_.emplace(ticket, std::move(handler));
    around_.later([this, ticket, request] {
        auto result = port_.groups().join(request.mgid, wire::Lid{});
        around_.with_service([&] { joined(ticket, request, std::move(result)); });
    });
}

/// Nobody on Ethernet tells a group's Q_Key: it is the one that whoever joins asks for.
void PortNetwork::joined(Ticket ticket, const rdmacm::GroupRequest& request, Result<void> result) {
    auto waiting = joining_.extract(ticket);
    if (!waiting) {  // cancelled meanwhile
        if (result) leave(ticket, request.mgid);
        return;
    }
    if (!result) return waiting.mapped()(std::unexpected(result.error()));
    waiting.mapped()(rdmacm::JoinedGroup{.mgid = request.mgid,
                                         .mac = ethernet_address_of_group(request.mgid),
                                         .qkey = request.qkey.value_or(wire::QKey{})});
}

void PortNetwork::leave(Ticket ticket, const wire::Gid& mgid) {
    cancel(ticket);
    around_.later([this, mgid] { port_.groups().leave(mgid, wire::Lid{}); });
}

void PortNetwork::cancel(Ticket ticket) {
    waiting_.erase(ticket);
    joining_.erase(ticket);
}

Result<std::uint16_t> PortNetwork::reserve(rdmacm::PortSpace space, std::uint16_t number) {
    return port_.ports().reserve(std::to_underlying(space), number);
}

void PortNetwork::release(rdmacm::PortSpace space, std::uint16_t number) {
    std::ignore = port_.ports().release(std::to_underlying(space), number);
}

}  // namespace verbline::verbs
