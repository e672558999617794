// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/umad/fabric_carrier.h"

#include <algorithm>

#include "apps/libibverbs/umad/mad_class.h"
#include "datapath/wire/bytes.h"

namespace verbline::verbs {
namespace {

/// For a program's port, which answers within microseconds while the program runs.
constexpr Time hub_patience = 100 * millisecond;
constexpr std::size_t most_waiting = 1024;

wire::MadClass class_of(mad::MadBytes mad) {
    return wire::MadClass{static_cast<std::uint8_t>(mad[1])};
}

std::uint64_t transaction_of(mad::MadBytes mad) {
    constexpr std::uint64_t kept = 0xffff'ffff'ffff;  // ibsim overwrites the rest
    return wire::load64(mad, 8) & kept;
}

mad::MadBuffer copy_of(mad::MadBytes mad) {
    mad::MadBuffer copy{};
    std::ranges::copy(mad, copy.begin());
    return copy;
}

bool is_at_simulator(wire::MadClass of) {
    return is_subnet_management(of) || of == wire::MadClass::subnet_administration;
}

}  // namespace

Result<std::unique_ptr<FabricCarrier>> FabricCarrier::create(const InfinibandLink& link,
                                                             QueuePairCarrier::OpenPort open, control::Loop& loop,
                                                             Received received) {
    auto simulator = mad::IbsimTransport::open(link.fabric, link.host, loop);
    if (!simulator) return std::unexpected(simulator.error());
    return std::unique_ptr<FabricCarrier>(
        new FabricCarrier(std::move(*simulator), std::move(open), loop, std::move(received)));
}

FabricCarrier::FabricCarrier(std::unique_ptr<mad::IbsimTransport> simulator, QueuePairCarrier::OpenPort open,
                             control::Loop& loop, Received received)
    : loop_(loop),
      received_(std::move(received)),
      simulator_(std::move(simulator)),
      hub_(std::move(open), loop, [this](std::uint8_t qpn, const FarEnd& from, mad::MadBytes mad, std::size_t length) {
          loop_.post([this, place = Place::hub, by = from.lid, copy = copy_of(mad)] { answered(place, by, copy); });
          received_(qpn, from, mad, length);
      }) {
    for (unsigned number = 0; number <= 0xff; ++number)
        simulator_->receive(wire::MadClass{static_cast<std::uint8_t>(number)},
                            [this](const mad::MadAddress& from, mad::MadBytes mad) { from_simulator(from, mad); });
}

void FabricCarrier::from_simulator(const mad::MadAddress& from, mad::MadBytes mad) {
    const auto of = class_of(mad);
    if (!is_at_simulator(of)) answered(Place::simulator, from.lid, mad);
    const FarEnd end{.lid = from.lid, .qpn = from.qpn, .sl = from.sl, .pkey_index = from.pkey_index};
    received_(is_subnet_management(of) ? 0 : 1, end, mad, simulator_->received_length());
}

void FabricCarrier::answered(Place place, wire::Lid by, mad::MadBytes mad) {
    places_[by] = place;
    waiting_.erase({by, transaction_of(mad)});
}

void FabricCarrier::send_to_simulator(const Transmission& transmission) {
    const auto& to = transmission.to;
    simulator_->send({.lid = to.lid, .qpn = to.qpn, .qkey = to.qkey, .sl = to.sl, .pkey_index = to.pkey_index},
                     transmission.mad, transmission.reply_within);
}

void FabricCarrier::send(const Transmission& transmission) {
    const auto place = places_.find(transmission.to.lid);
    if (is_at_simulator(class_of(transmission.mad)) || (place != places_.end() && place->second == Place::simulator))
        return send_to_simulator(transmission);
    if (place == places_.end() && transmission.reply_within != 0 && waiting_.size() < most_waiting) {
        const WaitingKey key{transmission.to.lid, transaction_of(transmission.mad)};
        auto& waiting = waiting_[key];
        waiting.transmission = transmission;
        waiting.timer = loop_.after(hub_patience, [this, key] {
            const auto request = waiting_.extract(key);
            if (!request.empty()) send_to_simulator(request.mapped().transmission);
        });
    }
    hub_.send(transmission);
}

}  // namespace verbline::verbs
