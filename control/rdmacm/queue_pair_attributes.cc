// SPDX-License-Identifier: BSD-3-Clause
#include "control/rdmacm/queue_pair_attributes.h"

#include <cerrno>
#include <optional>

#include "control/rdmacm/service_core.h"
#include "control/rdmacm/source.h"
#include "datapath/wire/pkey_table.h"

namespace verbline::rdmacm {
namespace {

bool responds(QueuePairType type) {
    return type == QueuePairType::rc || type == QueuePairType::xrc_target;
}
bool requests(QueuePairType type) {
    return type == QueuePairType::rc || type == QueuePairType::xrc_initiator;
}

/// ENOENT: the subnet manager has taken the port out of the connection's partition.
Result<QueuePairAttributes> init(const Id& id) {
    const auto index = id.port ? wire::pkey_index(id.port->facts().pkeys, id.connection.pkey)
                               : std::optional<std::uint16_t>(std::uint16_t{});
    if (!index) return failure(ENOENT, "the port is not in the connection's partition any more");
    QueuePairAttributes attributes{.mask = attribute::state | attribute::pkey_index | attribute::port,
                                   .state = transport::QueuePairState::init,
                                   .pkey_index = *index};
    if (id.datagram()) {
        attributes.mask |= attribute::qkey;
        attributes.qkey = id.qkey.value_or(wire::QKey{});
        return attributes;
    }
    attributes.mask |= attribute::access_flags;
    if (!id.connection.endpoint) return attributes;  // nothing is agreed: nothing is allowed
    attributes.access_flags = access_flag::remote_write;
    if (id.connection.responder_resources != 0)
        attributes.access_flags |= access_flag::remote_read | access_flag::remote_atomic;
    return attributes;
}

QueuePairAttributes ready_to_receive(const Id& id) {
    const auto& connection = id.connection;
    QueuePairAttributes attributes{
        .mask = attribute::state | attribute::path | attribute::mtu | attribute::destination | attribute::receive_psn,
        .state = transport::QueuePairState::rtr,
        .mtu = connection.mtu,
        .destination = *connection.remote,
        .receive_psn = connection.receive_psn,
        .path = connection.path.route};
    if (responds(id.type)) {
        attributes.mask |= attribute::max_destination_reads | attribute::min_rnr_timer;
        attributes.max_destination_reads = connection.responder_resources;
    }
    return attributes;
}

QueuePairAttributes ready_to_send(const Id& id) {
    const auto& connection = id.connection;
    QueuePairAttributes attributes{.mask = attribute::state | attribute::send_psn,
                                   .state = transport::QueuePairState::rts,
                                   .send_psn = connection.send_psn};
    if (requests(id.type)) {
        attributes.mask |= attribute::retry_count | attribute::rnr_retry | attribute::max_reads;
        attributes.retry_count = connection.retry_count;
        attributes.rnr_retry = connection.rnr_retry_count;
        attributes.max_reads = connection.initiator_depth;
    }
    if (requests(id.type) || responds(id.type)) {
        attributes.mask |= attribute::timeout;
        attributes.timeout = id.ack_timeout.value_or(connection.timeout);
    }
    return attributes;
}

}  // namespace

Result<QueuePairAttributes> queue_pair_attributes(const Id& id, transport::QueuePairState state) {
    if (id.datagram() || !id.connection.endpoint) {
        // Not connected: only the attributes of INIT are known, in any state.
        auto attributes = init(id);
        if (attributes) attributes->state = state;
        return attributes;
    }
    if (state == transport::QueuePairState::init) return init(id);
    if (state != transport::QueuePairState::rtr && state != transport::QueuePairState::rts)
        return failure(EINVAL, "connections lead a queue pair to INIT, RTR and RTS only");
    if (!id.connection.remote) return failure(EINVAL, "the peer has not answered yet");
    return state == transport::QueuePairState::rtr ? ready_to_receive(id) : ready_to_send(id);
}

Result<QueuePairAttributes> ServiceCore::init_queue_pair(IdNumber number, transport::QueuePairState state) {
    const auto found = find(number);
    if (!found) return std::unexpected(found.error());
    Id& id = **found;
    if (!id.port) return failure(EINVAL, "the id has no port yet: bind it to an address, or resolve one");
    if (id.datagram()) {
        if (const auto qkey = default_qkey(id); !qkey) return std::unexpected(qkey.error());
    }
    return queue_pair_attributes(id, state);
}

}  // namespace verbline::rdmacm
