// SPDX-License-Identifier: BSD-3-Clause
#include "control/mad/transport_channel.h"

#include <algorithm>
#include <utility>

namespace verbline::mad {

/// Runs on the loop's thread.
class TransportChannel::Sender {
public:
    explicit Sender(Transport& transport) : transport_(&transport) {}

    void send(const GmpPeer& to, MadBytes mad) {
        if (transport_ == nullptr) return;  // the channel is gone
        const auto& address = to.path.address;
        if (address.dlid == wire::Lid{} || address.dlid == wire::permissive_lid) {
            return counters.tx_dropped_no_lid.add();
        }
        const auto& port = transport_->port();
        const auto pkey = std::ranges::find_if(port.pkeys, [&](auto each) { return wire::match(each, to.pkey); });
        if (pkey == port.pkeys.end()) return counters.tx_dropped_pkey.add();
        // No reply expected by the transport: answers arrive as unsolicited MADs.
        transport_->send({.lid = address.dlid,
                          .qpn = to.qpn == gsi ? port.qpn : to.qpn,
                          .qkey = to.qkey,
                          .sl = address.sl,
                          .pkey_index = static_cast<std::uint16_t>(pkey - port.pkeys.begin())},
                         mad, 0);
    }
    void end() { transport_ = nullptr; }

    TransportChannelCounters counters;

private:
    Transport* transport_;
};

TransportChannel::TransportChannel(Transport& transport, control::Loop& loop)
    : transport_(transport), loop_(loop), sender_(std::make_shared<Sender>(transport)) {}

TransportChannel::~TransportChannel() {
    for (const auto each : classes_) transport_.receive(each, {});
    sender_->end();
}

void TransportChannel::send(const GmpPeer& to, MadBytes mad) noexcept {
    MadBuffer copy;
    std::ranges::copy(mad, copy.begin());
    loop_.post([sender = sender_, to, copy] { sender->send(to, copy); });
}

void TransportChannel::receive(wire::MadClass management_class, GmpReceiver receiver) {
    std::erase(classes_, management_class);
    if (!receiver) return transport_.receive(management_class, {});
    classes_.push_back(management_class);
    transport_.receive(management_class, [this, receiver = std::move(receiver)](const Address& from, MadBytes mad) {
        const auto peer = peer_of(from);
        if (!peer) return sender_->counters.rx_dropped_bad_pkey.add();
        const auto arrival = GmpArrival::of(*peer, mad);
        receiver({&arrival, 1});
    });
}

std::optional<GmpPeer> TransportChannel::peer_of(const Address& from) const {
    const auto& pkeys = transport_.port().pkeys;
    if (from.pkey_index >= pkeys.size()) return std::nullopt;
    return GmpPeer{.path = {.address = {.dlid = from.lid, .sl = from.sl}, .mac = {}},
                   .qpn = from.qpn,
                   .qkey = from.qkey,
                   .pkey = pkeys[from.pkey_index]};
}

const TransportChannelCounters& TransportChannel::counters() const {
    return sender_->counters;
}

}  // namespace verbline::mad
