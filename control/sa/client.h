// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Queries to the subnet administrator: one method per record type; each completes with an answer or a Failure, in any
/// order.
///
/// Requests, retransmissions included, go to the subnet manager that the port names at the time of sending, so that an
/// SM that moved is found. Replies come from the loop, never from within the call. Reports are acknowledged here and
/// passed on.
///
/// Owned by the control thread. The transport and the loop must outlive the client; callbacks of requests still out
/// when the client is destroyed are not called.

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>

#include "control/loop/loop.h"
#include "control/mad/transactions.h"
#include "control/mad/transport.h"
#include "control/sa/status.h"
#include "datapath/wire/class_port_info.h"
#include "datapath/wire/inform_info.h"
#include "datapath/wire/mcmember_record.h"
#include "datapath/wire/node_record.h"
#include "datapath/wire/notice.h"
#include "datapath/wire/path_record.h"
#include "datapath/wire/sa.h"
#include "datapath/wire/service_record.h"

namespace verbline::sa {

template <class Record>
using Answer = std::expected<Record, Failure>;
template <class Record>
using ReplyHandler = std::function<void(const Answer<Record>&)>;

#define VERBLINE_SA_CLIENT_COUNTERS(X)                                                   \
    X(reports, "Reports of the subnet administrator received and acknowledged")          \
    X(rx_dropped_foreign, "MADs that are not from the subnet manager's LID")             \
    X(rx_dropped_malformed, "responses and Reports that cannot be parsed")               \
    X(rx_dropped_unexpected_method, "subnet administration MADs that no client is sent") \
    X(tx_no_sm, "requests not sent because the port knows no subnet manager")
struct ClientCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_SA_CLIENT_COUNTERS)
};

class Client {
public:
    /// For requests that a user or traffic waits for.
    static constexpr mad::Patience patient{};
    /// For requests that the caller retransmits itself.
    static constexpr mad::Patience once(Time timeout) { return {.timeout = timeout, .limit = timeout, .retries = 0}; }

    Client(mad::Transport& transport, control::Loop& loop);
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    ~Client();

    /// Queries a reversible path. `components`: which other fields of `query` are valid (GIDs, LIDs, SL). The P_Key
    /// always is: without it, OpenSM answers with the lowest partition the two ports share.
    void path(const wire::PathRecord& query, wire::ComponentMask components, ReplyHandler<wire::PathRecord> reply,
              const mad::Patience& patience = patient);

    /// MCMemberRecord: GET, SET (join, create), DELETE (leave).
    void membership(wire::MadMethod method, const wire::McMemberRecord& record, wire::ComponentMask components,
                    ReplyHandler<wire::McMemberRecord> reply, const mad::Patience& patience = patient);

    /// Subscribes to a trap, or unsubscribes. Reports are passed to `on_report`.
    void subscribe(std::uint16_t trap, bool subscribe, ReplyHandler<wire::InformInfo> reply,
                   const mad::Patience& patience = patient);
    void on_report(std::function<void(const wire::Notice&)> handler) { report_ = std::move(handler); }

    void node(wire::Lid lid, ReplyHandler<wire::NodeRecord> reply);
    void service(std::string_view name, ReplyHandler<wire::ServiceRecord> reply);
    void class_port_info(ReplyHandler<wire::ClassPortInfo> reply, const mad::Patience& patience = patient);

    /// Any request whose record has at most 200 bytes; the reply has the whole attribute.
    using Data = std::span<const std::byte, wire::sa_data_size>;
    using RawReply = std::function<void(std::expected<Data, Failure>)>;
    void request(wire::MadMethod method, wire::SaAttribute attribute, wire::ComponentMask components,
                 wire::Bytes record, const mad::Patience& patience, RawReply reply);

    mad::Transport& transport() { return transport_; }
    const ClientCounters& counters() const { return counters_; }
    const mad::Transactions& transactions() const { return transactions_; }

private:
    template <class Record>
    void ask(wire::MadMethod method, wire::SaAttribute attribute, wire::ComponentMask components, const auto& record,
             const mad::Patience& patience, ReplyHandler<Record> reply);

    void received(const mad::MadAddress& from, mad::MadBytes mad);
    void acknowledge(const mad::MadAddress& to, mad::MadBytes report);
    void perform(const mad::Transactions::Actions& actions);
    void complete(const mad::Transactions::Done& done);
    void arm();

    mad::Transport& transport_;
    control::Loop& loop_;
    mad::Transactions transactions_;
    ClientCounters counters_;
    std::unordered_map<std::uint64_t, RawReply> replies_;  ///< by ticket
    std::function<void(const wire::Notice&)> report_;
    control::Timer timer_;
    Time armed_for_ = 0;
    std::shared_ptr<const bool> alive_ = std::make_shared<bool>(true);  ///< outlived only by posted tasks
};

}  // namespace verbline::sa
