// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/rdma/service.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "control/cm/member_ids.h"
#include "control/cm/message.h"
#include "control/rdmacm/address.h"
#include "pmd/base/clock.h"

namespace verbline::rdma_bench {
namespace {

// The port space of services without IP addresses, so that it is in the way of none that has them.
constexpr auto space = rdmacm::PortSpace::ib;
constexpr std::uint16_t mads = 32;  ///< at a time

Result<std::unique_ptr<mad::Gsi>> open_gsi(Port& port, bool& arrived) {
    auto gsi = mad::Gsi::create({.device = &port.rdma(), .slots = mads, .pkeys = port.pkeys()});
    if (gsi) (*gsi)->on_ready([&arrived] { arrived = true; });
    return gsi;
}

/// The answer to the request, if this is it and it names a queue pair.
std::optional<wire::CmSidrRep> answer_to(const wire::CmSidrReq& request, const mad::GmpArrival& arrival) {
    const auto message = cm::ReceivedMessage::parse(arrival.header, arrival.mad);
    if (!message || message->attribute() != wire::CmAttribute::sidr_rep) return std::nullopt;
    const auto& answer = message->as<wire::CmSidrRep>();
    const bool good = answer.request_id == request.request_id && answer.service == request.service &&
                      answer.status == wire::SidrStatus::valid;
    return good ? std::optional(answer) : std::nullopt;
}

}  // namespace

Result<std::unique_ptr<Service>> Service::create(Port& port, std::uint16_t number, wire::Qpn qpn, wire::QKey qkey) {
    std::unique_ptr<Service> service(new Service(rdmacm::service_id(space, number), qpn, qkey));
    if (auto reserved = port.reserve(std::to_underlying(space), number); !reserved)
        return std::unexpected(reserved.error());
    auto gsi = open_gsi(port, service->arrived_);
    if (!gsi) return std::unexpected(gsi.error());
    service->gsi_ = std::move(*gsi);
    service->gsi_->receive(wire::MadClass::communication, [of = service.get()](std::span<const mad::GmpArrival> burst) {
        for (const auto& arrival : burst) of->answer(arrival);
    });
    return service;
}

void Service::serve() {
    if (std::exchange(arrived_, false)) gsi_->drain();
}

/// On an interface of the kernel other programs receive this, too: what is not ours is theirs to answer.
void Service::answer(const mad::GmpArrival& arrival) {
    const auto message = cm::ReceivedMessage::parse(arrival.header, arrival.mad);
    if (!message || message->attribute() != wire::CmAttribute::sidr_req || message->service() != id_) return;
    const wire::CmSidrRep reply{.request_id = message->sender_id(),
                                .status = wire::SidrStatus::valid,
                                .qpn = qpn_,
                                .service = id_,
                                .qkey = qkey_};
    gsi_->send(arrival.from, cm::make_mad(reply, message->transaction()));
}

Result<Peer> find_service(Port& port, std::uint16_t number, const rdma::Path& server, const Work& work) {
    bool arrived = false;
    auto gsi = open_gsi(port, arrived);
    if (!gsi) return std::unexpected(gsi.error());
    // Not from 1: an answer to a client that was killed is none to the next one.
    const auto begun = monotonic_now();
    const wire::CmSidrReq request{.request_id = cm::ids_of(port.member()).id(static_cast<std::uint32_t>(begun)),
                                  .pkey = port.pkey(),
                                  .service = rdmacm::service_id(space, number)};
    const auto mad = cm::make_mad(request, request.request_id);
    std::optional<wire::CmSidrRep> answer;
    (*gsi)->receive(wire::MadClass::communication, [&](std::span<const mad::GmpArrival> burst) {
        for (const auto& arrival : burst)
            if (const auto found = answer_to(request, arrival)) answer = found;
    });
    for (Time now = begun, repeat = now; !answer && now < begun + patience; now = monotonic_now()) {
        if (now >= repeat) {
            (*gsi)->send({.path = server, .pkey = port.pkey()}, mad);
            repeat = now + repeat_after;
        }
        port.poll(now);
        if (std::exchange(arrived, false)) (*gsi)->drain();
        if (auto worked = work(now); !worked) return std::unexpected(worked.error());
    }
    if (!answer)
        return failure(ETIMEDOUT, fmt::format("no server answers for {}; is `verbline bench rdma LINK` running there?",
                                              text(server)));
    return Peer{.path = server, .qpn = answer->qpn, .qkey = answer->qkey, .pkey = port.pkey()};
}

}  // namespace verbline::rdma_bench
