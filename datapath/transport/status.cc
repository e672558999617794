// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/work.h"

namespace verbline::transport {

const char* text(Status status) {
    switch (status) {
        case Status::success: return "success";
        case Status::local_length_error: return "local length error";
        case Status::local_queue_pair_error: return "local queue pair operation error";
        case Status::local_protection_error: return "local protection error";
        case Status::flushed: return "work request flushed";
        case Status::window_bind_error: return "memory window bind error";
        case Status::bad_response: return "bad response";
        case Status::local_access_error: return "local access error";
        case Status::remote_invalid_request: return "remote invalid request error";
        case Status::remote_access_error: return "remote access error";
        case Status::remote_operation_error: return "remote operation error";
        case Status::retry_exceeded: return "transport retry counter exceeded";
        case Status::rnr_retry_exceeded: return "RNR retry counter exceeded";
        case Status::remote_aborted: return "remote aborted error";
        case Status::fatal: return "fatal error";
        case Status::general: return "general error";
    }
    return "unknown status";
}

}  // namespace verbline::transport
