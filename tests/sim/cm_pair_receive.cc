// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/cm_pair.h"

// What a side does with a message: the part of Manager, with one endpoint at a time.

namespace verbline::sim {

using cm::ConnectionState;
using Kind = CmWord::Kind;

/// As Manager finds whose a message is.
void CmPair::receive(unsigned i, const mad::MadBuffer& mad) {
    auto& side = sides_[i];
    const auto message = *cm::ReceivedMessage::parse(mad);
    if (message.attribute() == wire::CmAttribute::req) return receive_req(i, message);
    const bool taken_back = message.attribute() == wire::CmAttribute::rej && message.receiver_id() == 0;
    const bool here = side.connection &&
                      (taken_back ? side.connection->state() != ConnectionState::idle &&
                                        static_cast<std::uint32_t>(side.connection->remote()) == message.sender_id()
                                  : static_cast<std::uint32_t>(side.connection->local()) == message.receiver_id());
    if (!here) return receive_unknown(i, message);
    Doings doings(*this, i);
    side.connection->receive(message, peer_of(i), side.now, doings);
    retire(side);
}

void CmPair::receive_req(unsigned i, const cm::ReceivedMessage& req) {
    auto& side = sides_[i];
    Doings doings(*this, i);
    if (side.connection) {
        auto& connection = *side.connection;
        const bool known = connection.state() != ConnectionState::idle &&
                           static_cast<std::uint32_t>(connection.remote()) == req.sender_id();
        if (known && (cm::open(connection.state()) || connection.repeats(req))) {
            connection.receive(req, peer_of(i), side.now, doings);
            return retire(side);
        }
        const bool asks =
            connection.state() == ConnectionState::req_sent || connection.state() == ConnectionState::mra_req_received;
        if (connection.peer_to_peer() && asks) {
            if (auto request = connection.match(req, peer_of(i), side.now, doings)) {
                hear(i, cm::RequestReceived{.endpoint = nullptr, .request = std::move(*request), .from = {}});
            }
            return;
        }
    }
    const bool free = !side.connection || (side.connection->state() == ConnectionState::idle && side.word.rests());
    if (i == 1 && !setup_->peers && free && side.births < setup_->births) return take(i, req);
    const wire::CmRej rej{.remote_id = req.sender_id(), .reason = wire::CmRejectReason::invalid_service_id};
    put(i, cm::make_mad(rej, req.transaction()));
}

/// A listener's new endpoint.
void CmPair::take(unsigned i, const cm::ReceivedMessage& req) {
    auto& side = sides_[i];
    side.connection.emplace(cm::CommunicationId{0x100 * (i + 1) + side.births}, wire::Guid{i + 1});
    ++side.births;
    side.user = true;
    side.word = CmWord(Kind::passive);
    (void)side.connection->accept(req, peer_of(i), side.now);
}

void CmPair::receive_unknown(unsigned i, const cm::ReceivedMessage& message) {
    if (message.attribute() == wire::CmAttribute::rep) {
        const wire::CmRej rej{.local_id = message.receiver_id(),
                              .remote_id = message.sender_id(),
                              .about = wire::CmAbout::rep,
                              .reason = wire::CmRejectReason::invalid_communication_id};
        put(i, cm::make_mad(rej, message.transaction()));
    }
    if (message.attribute() == wire::CmAttribute::dreq) {
        const wire::CmDrep drep{.local_id = message.receiver_id(), .remote_id = message.sender_id()};
        put(i, cm::make_mad(drep, message.transaction()));
    }
}

}  // namespace verbline::sim
