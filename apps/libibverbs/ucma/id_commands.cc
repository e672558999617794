// SPDX-License-Identifier: BSD-3-Clause
// Ids themselves.
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "apps/libibverbs/ucma/commands.h"
#include "apps/libibverbs/ucma/values.h"

namespace verbline::verbs {
namespace {

using rdmacm::IdNumber;
using rdmacm::PortSpace;
using rdmacm::QueuePairType;

/// The queue pair type of ids of a port space; for RDMA_PS_IB the type that the program names.
std::optional<QueuePairType> queue_pair_type(PortSpace space, std::uint8_t wanted) {
    if (!rdmacm::valid(space)) return std::nullopt;
    if (space != PortSpace::ib) return rdmacm::datagrams(space) ? QueuePairType::ud : QueuePairType::rc;
    const QueuePairType type{wanted};
    switch (type) {
        case QueuePairType::rc:
        case QueuePairType::uc:
        case QueuePairType::ud:
        case QueuePairType::xrc_initiator:
        case QueuePairType::xrc_target: return type;
    }
    return std::nullopt;
}

/// The value of an option, of which `size` bytes must be there.
Result<std::uint32_t> option_value(const rdma_ucm_set_option& command, std::size_t size) {
    if (command.optlen != size) return failure(EINVAL, "length of the option");
    std::uint32_t value = 0;
    auto read = read_user(command.optval, std::as_writable_bytes(std::span(&value, 1)).first(size));
    if (!read) return std::unexpected(read.error());
    return value;
}

Result<void> set_id_option(const rdma_ucm_set_option& command, CommandTarget& target) {
    using Option = rdmacm::Service::Option;
    const IdNumber id{command.id};
    const auto set = [&](Option option, std::size_t size, bool flag) -> Result<void> {
        const auto value = option_value(command, size);
        if (!value) return std::unexpected(value.error());
        return target.service.set_option(id, option, flag ? *value != 0 : static_cast<std::uint8_t>(*value));
    };
    switch (command.optname) {
        case RDMA_OPTION_ID_TOS: return set(Option::type_of_service, sizeof(__u8), false);
        case RDMA_OPTION_ID_REUSEADDR: return set(Option::reuse_address, sizeof(int), true);
        case RDMA_OPTION_ID_AFONLY: return set(Option::address_family_only, sizeof(int), true);
        case RDMA_OPTION_ID_ACK_TIMEOUT: return set(Option::ack_timeout, sizeof(__u8), false);
        default: return failure(ENOSYS, "option");
    }
}

constexpr std::size_t max_paths = 64;

/// Several records may be given; those that serve both ways, for everything, count.
Result<void> set_paths(const rdma_ucm_set_option& command, CommandTarget& target) {
    constexpr std::uint32_t usable = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
    const auto count = command.optlen / sizeof(ib_path_rec_data);
    if (count == 0 || count > max_paths || command.optlen % sizeof(ib_path_rec_data) != 0)
        return failure(EINVAL, "length of the paths");
    std::vector<ib_path_rec_data> given(count);
    if (auto read = read_user(command.optval, std::as_writable_bytes(std::span(given))); !read) return read;
    std::vector<wire::PathRecord> paths;
    for (const auto& data : given)
        if ((data.flags & usable) == usable) paths.push_back(unpack_record(data));
    if (paths.empty()) return failure(EINVAL, "no path for both ways");
    return target.service.set_paths(IdNumber{command.id}, std::move(paths), target.now);
}

}  // namespace

Result<void> create_id(const Command& command, CommandTarget& target) {
    if (auto room = command.require_room(sizeof(rdma_ucm_create_id_resp)); !room) return room;
    const auto input = command.input<rdma_ucm_create_id>();
    if (!input) return std::unexpected(input.error());
    const PortSpace space{input->ps};
    const auto type = queue_pair_type(space, input->qp_type);
    if (!type) return failure(EINVAL, "port space or type");
    const auto id = target.service.create_id(target.events, input->uid, space, *type);
    auto responded = command.respond(input->response, rdma_ucm_create_id_resp{.id = static_cast<std::uint32_t>(id)});
    if (!responded) std::ignore = target.service.destroy_id(id, target.now);
    return responded;
}

Result<void> destroy_id(const Command& command, CommandTarget& target) {
    if (auto room = command.require_room(sizeof(rdma_ucm_destroy_id_resp)); !room) return room;
    const auto input = command.input<rdma_ucm_destroy_id>();
    if (!input) return std::unexpected(input.error());
    const auto events = target.service.destroy_id(IdNumber{input->id}, target.now);
    if (!events) return std::unexpected(events.error());
    return command.respond(input->response, rdma_ucm_destroy_id_resp{.events_reported = *events});
}

Result<void> migrate_id(const Command& command, CommandTarget& target) {
    if (auto room = command.require_room(sizeof(rdma_ucm_migrate_resp)); !room) return room;
    const auto input = command.input<rdma_ucm_migrate_id>();
    if (!input) return std::unexpected(input.error());
    // `fd` is the source channel; the target is the one that was written to.
    if (target.other == nullptr) return failure(EINVAL, "not a descriptor of this device");
    const auto events = target.service.migrate(IdNumber{input->id}, target.events);
    if (!events) return std::unexpected(events.error());
    return command.respond(input->response, rdma_ucm_migrate_resp{.events_reported = *events});
}

Result<void> set_option(const Command& command, CommandTarget& target) {
    const auto input = command.input<rdma_ucm_set_option>();
    if (!input) return std::unexpected(input.error());
    switch (input->level) {
        case RDMA_OPTION_ID: return set_id_option(*input, target);
        case RDMA_OPTION_IB:
            if (input->optname == RDMA_OPTION_IB_PATH) return set_paths(*input, target);
            break;
        default: break;
    }
    return failure(ENOSYS, "option");
}

Result<void> notify(const Command& command, CommandTarget& target) {
    constexpr std::uint32_t communication_established = 4;  // IBV_EVENT_COMM_EST
    const auto input = command.input<rdma_ucm_notify>();
    if (!input) return std::unexpected(input.error());
    if (input->event != communication_established) return failure(EINVAL, "event");
    return target.service.notify_established(IdNumber{input->id}, target.now);
}

}  // namespace verbline::verbs
