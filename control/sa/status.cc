// SPDX-License-Identifier: BSD-3-Clause
#include "control/sa/status.h"

#include <fmt/format.h>

namespace verbline::sa {

namespace {

const char* name(SaStatus status) {
    switch (status) {
        case SaStatus::ok: return "success";
        case SaStatus::busy: return "busy";
        case SaStatus::unsupported_method: return "method not supported";
        case SaStatus::unsupported_method_attribute: return "method not supported for this attribute";
        case SaStatus::no_resources: return "ERR_NO_RESOURCES, the subnet administrator is out of resources";
        case SaStatus::invalid_request: return "ERR_REQ_INVALID, the subnet administrator rejects the request";
        case SaStatus::no_records: return "ERR_NO_RECORDS, nothing in the subnet matches";
        case SaStatus::too_many_records: return "ERR_TOO_MANY_RECORDS, more than one record matches";
        case SaStatus::invalid_gid: return "ERR_REQ_INVALID_GID";
        case SaStatus::insufficient_components:
            return "ERR_REQ_INSUFFICIENT_COMPONENTS, the group does not exist and too little is known to create it";
        case SaStatus::denied: return "ERR_REQ_DENIED";
        case SaStatus::priority_suggested: return "ERR_REQ_PRIORITY_SUGGESTED";
    }
    return "unknown status";
}

}  // namespace

std::string describe(SaStatus status) {
    return fmt::format("{} (0x{:04x})", name(status), static_cast<std::uint16_t>(status));
}

std::string describe(const Failure& failure) {
    switch (failure.reason) {
        case Failure::Reason::refused: return describe(failure.status);
        case Failure::Reason::timed_out: return "no answer from the subnet administrator: is a subnet manager running";
        case Failure::Reason::malformed: return "the subnet administrator's answer cannot be read";
        case Failure::Reason::queue_full: return "too many requests wait for the subnet administrator";
        case Failure::Reason::cancelled: return "the subnet manager changed while the request was out";
    }
    return "unknown failure";
}

}  // namespace verbline::sa
