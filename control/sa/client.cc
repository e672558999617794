// SPDX-License-Identifier: BSD-3-Clause
#include "control/sa/client.h"

#include <algorithm>
#include <random>
#include <utility>

namespace verbline::sa {

namespace {

constexpr std::uint8_t report_response_time = 18;  // 4.096 us * 2^18: we acknowledge Reports within a second

bool is_sa(wire::MadClass management_class) {
    return management_class == wire::MadClass::subnet_administration;
}

}  // namespace

Client::Client(mad::Transport& transport, control::Loop& loop)
    : transport_(transport), loop_(loop), transactions_(std::random_device{}()) {
    transport_.receive(wire::MadClass::subnet_administration,
                       [this](const mad::MadAddress& from, mad::MadBytes mad) { received(from, mad); });
}

Client::~Client() {
    transport_.receive(wire::MadClass::subnet_administration, {});
}

// ---- requests ------------------------------------------------------------------------------------------------------

template <class Record>
void Client::ask(wire::MadMethod method, wire::SaAttribute attribute, wire::ComponentMask components,
                 const auto& record, const mad::Patience& patience, ReplyHandler<Record> reply) {
    std::array<std::byte, std::remove_cvref_t<decltype(record)>::size> bytes{};
    record.emit(bytes);
    request(method, attribute, components, bytes, patience,
            [this, reply = std::move(reply)](const std::expected<Data, Failure>& data) {
                if (!data) return reply(std::unexpected(data.error()));
                if (const auto parsed = Record::parse(*data)) return reply(*parsed);
                counters_.rx_dropped_malformed.add();
                reply(std::unexpected(Failure{.reason = Failure::Reason::malformed}));
            });
}

void Client::path(const wire::PathRecord& query, wire::ComponentMask components, ReplyHandler<wire::PathRecord> reply,
                  const mad::Patience& patience) {
    auto record = query;
    record.reversible = true;
    record.path_count = 1;
    components |= wire::path_component::reversible | wire::path_component::path_count | wire::path_component::pkey;
    ask<wire::PathRecord>(wire::MadMethod::get, wire::SaAttribute::path_record, components, record, patience,
                          std::move(reply));
}

void Client::membership(wire::MadMethod method, const wire::McMemberRecord& record, wire::ComponentMask components,
                        ReplyHandler<wire::McMemberRecord> reply, const mad::Patience& patience) {
    ask<wire::McMemberRecord>(method, wire::SaAttribute::mcmember_record, components, record, patience,
                              std::move(reply));
}

void Client::subscribe(std::uint16_t trap, bool subscribe, ReplyHandler<wire::InformInfo> reply,
                       const mad::Patience& patience) {
    const wire::InformInfo info{.subscribe = static_cast<std::uint8_t>(subscribe),
                                .trap = trap,
                                .qpn = transport_.port().qpn,
                                .response_time = report_response_time};
    ask<wire::InformInfo>(wire::MadMethod::set, wire::SaAttribute::inform_info, 0, info, patience, std::move(reply));
}

void Client::node(wire::Lid lid, ReplyHandler<wire::NodeRecord> reply) {
    ask<wire::NodeRecord>(wire::MadMethod::get, wire::SaAttribute::node_record, wire::node_component::lid,
                          wire::NodeRecord{.lid = lid}, patient, std::move(reply));
}

void Client::service(std::string_view name, ReplyHandler<wire::ServiceRecord> reply) {
    wire::ServiceRecord record;
    std::ranges::transform(name.substr(0, record.name.size()), record.name.begin(),
                           [](char c) { return static_cast<std::byte>(c); });
    ask<wire::ServiceRecord>(wire::MadMethod::get, wire::SaAttribute::service_record, wire::service_component::name,
                             record, patient, std::move(reply));
}

void Client::class_port_info(ReplyHandler<wire::ClassPortInfo> reply, const mad::Patience& patience) {
    ask<wire::ClassPortInfo>(wire::MadMethod::get, wire::SaAttribute::class_port_info, 0, wire::ClassPortInfo{},
                             patience, std::move(reply));
}

void Client::request(wire::MadMethod method, wire::SaAttribute attribute, wire::ComponentMask components,
                     wire::Bytes record, const mad::Patience& patience, RawReply reply) {
    mad::MadBuffer mad{};
    const std::span<std::byte, wire::mad_size> bytes(mad);
    wire::Mad{.management_class = wire::MadClass::subnet_administration,
              .class_version = wire::sa_class_version,
              .method = method,
              .attribute = static_cast<std::uint16_t>(attribute)}
        .emit(bytes.first<wire::Mad::size>());
    wire::SaHeader{.components = components}.emit(bytes.subspan<wire::sa_header_offset, wire::SaHeader::size>());
    std::ranges::copy(record.first(std::min(record.size(), wire::sa_data_size)), bytes.begin() + wire::sa_data_offset);

    mad::Transactions::Actions actions;
    const auto ticket = transactions_.start(mad, {}, patience, loop_.now(), actions);
    if (!ticket) {
        loop_.post([reply = std::move(reply), alive = std::weak_ptr(alive_)] {
            if (!alive.expired()) reply(std::unexpected(Failure{.reason = Failure::Reason::queue_full}));
        });
        return;
    }
    replies_.emplace(static_cast<std::uint64_t>(*ticket), std::move(reply));
    perform(actions);
}

// ---- what comes in -------------------------------------------------------------------------------------------------

void Client::received(const mad::MadAddress& from, mad::MadBytes mad) {
    const auto header = wire::Mad::parse(mad);
    if (!header || !is_sa(header->management_class) || header->class_version != wire::sa_class_version) {
        return counters_.rx_dropped_malformed.add();
    }
    if (from.lid != transport_.port().sm_lid) return counters_.rx_dropped_foreign.add();
    if (header->method == wire::MadMethod::report) {
        const auto notice = wire::Notice::parse(mad.subspan<wire::sa_data_offset>());
        if (header->attribute != static_cast<std::uint16_t>(wire::SaAttribute::notice) || !notice) {
            return counters_.rx_dropped_malformed.add();
        }
        counters_.reports.add();
        acknowledge(from, mad);
        if (report_) report_(*notice);
    } else if (wire::is_response(header->method)) {
        mad::Transactions::Actions actions;
        transactions_.received(mad, loop_.now(), actions);
        perform(actions);
    } else {
        counters_.rx_dropped_unexpected_method.add();
    }
}

void Client::acknowledge(const mad::MadAddress& to, mad::MadBytes report) {
    // The SA repeats a Report until its ReportResp comes: the same MAD, marked as a response (IBTA 13.4.11).
    mad::MadBuffer mad;
    std::ranges::copy(report, mad.begin());
    wire::store8(mad, 3, static_cast<std::uint8_t>(wire::MadMethod::report_response));
    wire::store16(mad, 4, 0);
    transport_.send(to, mad, 0);
}

void Client::perform(const mad::Transactions::Actions& actions) {
    for (const auto& action : actions) {
        if (const auto* send = std::get_if<mad::Transactions::Send>(&action)) {
            const auto& port = transport_.port();
            if (port.sm_lid == wire::Lid{}) {
                counters_.tx_no_sm.add();
                continue;
            }
            transport_.send({.lid = port.sm_lid, .sl = port.sm_sl}, send->mad, send->reply_within);
        }
    }
    arm();
    const std::weak_ptr alive = alive_;
    for (const auto& action : actions) {
        if (const auto* done = std::get_if<mad::Transactions::Done>(&action)) complete(*done);
        if (alive.expired()) return;  // a reply may end the client
    }
}

void Client::complete(const mad::Transactions::Done& done) {
    const auto it = replies_.find(static_cast<std::uint64_t>(done.ticket));
    const auto reply = std::move(it->second);
    replies_.erase(it);
    if (!done.response) return reply(std::unexpected(Failure{.reason = Failure::Reason::timed_out}));
    const mad::MadBytes mad(*done.response);
    const SaStatus status{wire::load16(mad, 4)};
    if (status != SaStatus::ok) return reply(std::unexpected(Failure{.status = status}));
    reply(mad.subspan<wire::sa_data_offset, wire::sa_data_size>());
}

void Client::arm() {
    const auto deadline = transactions_.deadline();
    if (!deadline) return timer_.cancel();
    if (timer_ && armed_for_ == *deadline) return;
    armed_for_ = *deadline;
    timer_ = loop_.at(*deadline, [this] {
        armed_for_ = 0;
        mad::Transactions::Actions actions;
        transactions_.tick(loop_.now(), actions);
        perform(actions);
    });
}

}  // namespace verbline::sa
