// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/connection_explorer.h"

#include <cstring>
#include <memory>
#include <tuple>

namespace verbline::cm {
namespace {

template <class Value>
std::uint64_t number(const Value& value) {
    if constexpr (requires { value.value(); })
        return value.value();
    else
        return static_cast<std::uint64_t>(value);
}

}  // namespace

std::size_t MadHash::operator()(const mad::MadBuffer& mad) const {
    std::uint64_t hash = 0;
    for (std::size_t at = 0; at < mad.size(); at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, mad.data() + at, sizeof(word));
        hash = mix(hash, word);
    }
    return hash;
}

void ConnectionExplorer::copy(const Connection& from, Connection& to) {
    const auto fields = [](auto& c) {
        return std::tie(c.local_, c.remote_, c.ca_guid_, c.remote_guid_, c.state_, c.transport_, c.alternate_,
                        c.active_, c.peer_to_peer_, c.redirected_, c.silent_, c.closing_, c.retries_, c.max_retries_,
                        c.response_timeout_, c.own_response_timeout_, c.packet_lifetime_, c.ack_delay_, c.service_,
                        c.primary_port_.gid, c.primary_port_.lid, c.alternate_port_.gid, c.alternate_port_.lid,
                        c.local_qpn_, c.remote_qpn_, c.remote_psn_, c.transaction_, c.alternate_transaction_,
                        c.alternate_digest_, c.deadline_, c.since_, c.peer_);
    };
    fields(to) = fields(from);
    to.kept_ = from.kept_ ? std::make_unique<mad::MadBuffer>(*from.kept_) : nullptr;
}

std::uint64_t ConnectionExplorer::digest(const Connection& c) {
    std::uint64_t hash = 0;
    const auto add = [&](const auto&... values) { ((hash = mix(hash, number(values))), ...); };
    add(c.local_, c.remote_, c.remote_guid_, c.state_, c.alternate_, c.active_, c.silent_, c.closing_, c.retries_,
        c.response_timeout_, c.own_response_timeout_, c.packet_lifetime_, c.ack_delay_, c.local_qpn_, c.remote_qpn_,
        c.remote_psn_, c.transaction_, c.alternate_transaction_, c.alternate_digest_, c.deadline_ != 0);
    if (c.kept_) add(MadHash{}(*c.kept_));
    return hash;
}

}  // namespace verbline::cm
