// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/neighbour/neighbours.h"

#include "datapath/link/gid_table.h"

namespace verbline::neighbour {
namespace {

using wire::Gid;
using wire::MacAddress;

std::optional<MacAddress> mac_of(const std::optional<LinkAddress>& link) {
    return link ? std::optional(std::get<MacAddress>(*link)) : std::nullopt;
}

Frame frame_of(const Send& send) {
    return write_frame(send.message, mac_of(send.to));
}

Parameters with_capacity(std::size_t capacity) {
    auto parameters = Neighbours::parameters;
    parameters.capacity = capacity;
    return parameters;
}

}  // namespace

Neighbours::Neighbours(const MacAddress& mac, std::size_t capacity) : mac_(mac), engine_(mac, with_capacity(capacity)) {
    set_addresses({}, 0);
}

void Neighbours::set_addresses(const std::vector<link::InterfaceAddress>& addresses, Time now) {
    std::vector<link::InterfaceAddress> all{{link::link_local_gid(mac_), 64}};
    all.insert(all.end(), addresses.begin(), addresses.end());
    engine_.set_addresses(all, now);
}

Neighbours::Outcome Neighbours::received(wire::Bytes frame, Time now) {
    const auto read = read_frame(frame);
    if (read.kind == Kind::other) return {};
    Outcome outcome{.taken = true};
    for (const auto& action : engine_.received(read, now)) {
        if (const auto* send = std::get_if<Send>(&action)) outcome.reply = frame_of(*send);
        if (std::holds_alternative<Resolved>(action)) outcome.found = true;
    }
    return outcome;
}

std::optional<MacAddress> Neighbours::lookup(const Gid& gid, Time now) const {
    if (owns(gid)) return mac_;
    const auto known = mac_of(engine_.find(gid, now));
    return known ? known : link::mac_of_link_local(gid);
}

std::optional<Frame> Neighbours::solicit(const Gid& gid, Time now) {
    std::optional<Frame> frame;
    for (const auto& action : engine_.resolve(gid, now)) {
        if (const auto* send = std::get_if<Send>(&action)) frame = frame_of(*send);
    }
    return frame;
}

Neighbours::Due Neighbours::tick(Time now) {
    Due due;
    for (const auto& action : engine_.tick(now)) {
        if (const auto* send = std::get_if<Send>(&action)) due.frames.push_back(frame_of(*send));
        if (std::holds_alternative<Failed>(action)) due.failed = true;
    }
    return due;
}

}  // namespace verbline::neighbour
