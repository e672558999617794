// SPDX-License-Identifier: BSD-3-Clause

// Names of values, as programs print and compare them: the texts are part of the ABI and the same as everywhere.

#include <cstdint>
#include <iterator>
#include <span>

#include <infiniband/verbs.h>

#include "apps/libibverbs/abi/convert.h"

using verbline::verbs::number;

namespace {

const char* text(std::span<const char* const> texts, std::uint32_t value) {
    return value < texts.size() ? texts[value] : "unknown";
}

constexpr const char* statuses[] = {
    "success",
    "local length error",
    "local QP operation error",
    "local EE context operation error",
    "local protection error",
    "Work Request Flushed Error",
    "memory management operation error",
    "bad response error",
    "local access error",
    "remote invalid request error",
    "remote access error",
    "remote operation error",
    "transport retry counter exceeded",
    "RNR retry counter exceeded",
    "local RDD violation error",
    "remote invalid RD request",
    "aborted error",
    "invalid EE context number",
    "invalid EE context state",
    "fatal error",
    "response timeout error",
    "general error",
    "TM error",
    "TM software rendezvous",
};
static_assert(std::size(statuses) == IBV_WC_TM_RNDV_INCOMPLETE + 1);

constexpr const char* events[] = {
    "CQ error",
    "local work queue catastrophic error",
    "invalid request local work queue error",
    "local access violation work queue error",
    "communication established",
    "send queue drained",
    "path migrated",
    "path migration request error",
    "local catastrophic error",
    "port active",
    "port error",
    "LID change",
    "P_Key change",
    "SM change",
    "SRQ catastrophic error",
    "SRQ limit reached",
    "last WQE reached",
    "client reregistration",
    "GID table change",
    "WQ fatal",
};
static_assert(std::size(events) == IBV_EVENT_WQ_FATAL + 1);

constexpr const char* port_states[] = {"no state change (NOP)", "down", "init", "armed", "active", "active defer"};
static_assert(std::size(port_states) == IBV_PORT_ACTIVE_DEFER + 1);

constexpr const char* node_types[] = {"unknown",           "InfiniBand channel adapter",
                                      "InfiniBand switch", "InfiniBand router",
                                      "iWARP NIC",         "usNIC",
                                      "usNIC UDP",         "unspecified"};
static_assert(std::size(node_types) == IBV_NODE_UNSPECIFIED + 1);

}  // namespace

extern "C" {

const char* ibv_wc_status_str(ibv_wc_status status) {
    return text(statuses, number(status));
}

const char* ibv_event_type_str(ibv_event_type event) {
    return text(events, number(event));
}

const char* ibv_port_state_str(ibv_port_state port_state) {
    return text(port_states, number(port_state));
}

const char* ibv_node_type_str(ibv_node_type node_type) {
    return text(node_types, number(node_type));
}

}  // extern "C"
