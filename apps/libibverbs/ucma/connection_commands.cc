// SPDX-License-Identifier: BSD-3-Clause
// Connections of ids.
#include <cstddef>
#include <optional>
#include <span>

#include "apps/libibverbs/ucma/commands.h"
#include "apps/libibverbs/ucma/values.h"

namespace verbline::verbs {
namespace {

using rdmacm::IdNumber;

/// The length before ECE (enhanced connection establishment), which is not supported, was added.
constexpr std::size_t connect_size = offsetof(rdma_ucm_connect, reserved) + sizeof(rdma_ucm_connect::reserved);
constexpr std::size_t accept_size = offsetof(rdma_ucm_accept, reserved) + sizeof(rdma_ucm_accept::reserved);

constexpr int default_backlog = 1024;

}  // namespace

Result<void> connect(const Command& command, CommandTarget& target) {
    const auto input = command.input<rdma_ucm_connect>(connect_size);
    if (!input) return std::unexpected(input.error());
    if (input->conn_param.valid == 0) return failure(EINVAL, "no parameters");
    return target.service.connect(IdNumber{input->id}, to_parameters(input->conn_param), target.now);
}

Result<void> listen(const Command& command, CommandTarget& target) {
    const auto input = command.input<rdma_ucm_listen>();
    if (!input) return std::unexpected(input.error());
    const auto backlog = static_cast<int>(input->backlog);
    return target.service.listen(IdNumber{input->id},
                                 backlog > 0 && backlog < default_backlog ? backlog : default_backlog, target.now);
}

Result<void> accept(const Command& command, CommandTarget& target) {
    const auto input = command.input<rdma_ucm_accept>(accept_size);
    if (!input) return std::unexpected(input.error());
    std::optional<rdmacm::ConnectParameters> parameters;
    if (input->conn_param.valid != 0) parameters = to_parameters(input->conn_param);
    return target.service.accept(IdNumber{input->id}, input->uid, parameters, target.now);
}

Result<void> reject(const Command& command, CommandTarget& target) {
    const auto input = command.input<rdma_ucm_reject>();
    if (!input) return std::unexpected(input.error());
    // Older programs give no reason.
    const auto reason = input->reason == 0 ? wire::CmRejectReason::consumer : wire::CmRejectReason{input->reason};
    if (reason != wire::CmRejectReason::consumer && reason != wire::CmRejectReason::vendor_option)
        return failure(EINVAL, "reason");
    const auto data = std::as_bytes(std::span(input->private_data).first(input->private_data_len));
    return target.service.reject(IdNumber{input->id}, {data.begin(), data.end()}, reason, target.now);
}

Result<void> disconnect(const Command& command, CommandTarget& target) {
    const auto input = command.input<rdma_ucm_disconnect>();
    if (!input) return std::unexpected(input.error());
    return target.service.disconnect(IdNumber{input->id}, target.now);
}

Result<void> init_queue_pair(const Command& command, CommandTarget& target) {
    if (auto room = command.require_room(sizeof(ib_uverbs_qp_attr)); !room) return room;
    const auto input = command.input<rdma_ucm_init_qp_attr>();
    if (!input) return std::unexpected(input.error());
    constexpr auto last = static_cast<std::uint32_t>(transport::QueuePairState::error);
    if (input->qp_state > last) return failure(EINVAL, "state");
    const auto attributes =
        target.service.init_queue_pair(IdNumber{input->id}, static_cast<transport::QueuePairState>(input->qp_state));
    if (!attributes) return std::unexpected(attributes.error());
    return command.respond(input->response, from_attributes(*attributes));
}

}  // namespace verbline::verbs
