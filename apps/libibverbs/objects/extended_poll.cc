// SPDX-License-Identifier: BSD-3-Clause
// Extended polling: ibv_start_poll, ibv_next_poll, ibv_end_poll, and the fields of the current completion.
#include "apps/libibverbs/abi/convert.h"
#include "apps/libibverbs/objects/completion_queue.h"
#include "pmd/base/clock.h"

namespace verbline::verbs {
namespace {

const transport::Completion& current(ibv_cq_ex* queue) {
    return CompletionQueue::of(queue).current();
}

ibv_wc_opcode read_opcode(ibv_cq_ex* queue) {
    return to_wc_opcode(current(queue).kind);
}
std::uint32_t read_vendor_error(ibv_cq_ex*) {
    return 0;
}
std::uint32_t read_byte_length(ibv_cq_ex* queue) {
    return current(queue).length;
}
__be32 read_immediate(ibv_cq_ex* queue) {
    return to_wc(current(queue)).imm_data;
}
std::uint32_t read_qp_number(ibv_cq_ex* queue) {
    return static_cast<std::uint32_t>(current(queue).qpn);
}
std::uint32_t read_source_qp(ibv_cq_ex* queue) {
    return static_cast<std::uint32_t>(current(queue).source);
}
unsigned read_flags(ibv_cq_ex* queue) {
    return current(queue).flags;
}
std::uint32_t read_slid(ibv_cq_ex* queue) {
    return static_cast<std::uint32_t>(current(queue).slid);
}
std::uint8_t read_service_level(ibv_cq_ex* queue) {
    return current(queue).service_level;
}
std::uint8_t read_path_bits(ibv_cq_ex*) {
    return 0;
}
std::uint64_t read_timestamp(ibv_cq_ex* queue) {
    return static_cast<std::uint64_t>(current(queue).time);
}
std::uint64_t read_wall_clock(ibv_cq_ex* queue) {
    // Completion timestamps are of the monotonic clock.
    return static_cast<std::uint64_t>(current(queue).time + (utc_now() - monotonic_now()));
}

}  // namespace

void set_extended_polling(ibv_cq_ex& queue, std::uint64_t wc_flags) {
    queue.start_poll = [](ibv_cq_ex* cq, ibv_poll_cq_attr* attributes) {
        return attributes->comp_mask != 0 ? EINVAL : CompletionQueue::of(cq).start_poll();
    };
    queue.next_poll = [](ibv_cq_ex* cq) { return CompletionQueue::of(cq).next_poll(); };
    queue.end_poll = [](ibv_cq_ex* cq) { CompletionQueue::of(cq).end_poll(); };
    queue.read_opcode = read_opcode;
    queue.read_vendor_err = read_vendor_error;
    queue.read_wc_flags = read_flags;
    const auto set = [wc_flags](std::uint64_t flag, auto& field, auto function) {
        if ((wc_flags & flag) != 0) field = function;
    };
    set(IBV_WC_EX_WITH_BYTE_LEN, queue.read_byte_len, read_byte_length);
    set(IBV_WC_EX_WITH_IMM, queue.read_imm_data, read_immediate);
    set(IBV_WC_EX_WITH_QP_NUM, queue.read_qp_num, read_qp_number);
    set(IBV_WC_EX_WITH_SRC_QP, queue.read_src_qp, read_source_qp);
    set(IBV_WC_EX_WITH_SLID, queue.read_slid, read_slid);
    set(IBV_WC_EX_WITH_SL, queue.read_sl, read_service_level);
    set(IBV_WC_EX_WITH_DLID_PATH_BITS, queue.read_dlid_path_bits, read_path_bits);
    set(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP, queue.read_completion_ts, read_timestamp);
    set(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK, queue.read_completion_wallclock_ns, read_wall_clock);
}

void CompletionQueue::show_current() noexcept {
    handle_.abi.status = static_cast<ibv_wc_status>(current().status);
    handle_.abi.wr_id = current().id;
}

bool CompletionQueue::take_current() noexcept {
    lock_.lock();
    if (take(std::span(&current_, 1)) != 0) return true;
    lock_.unlock();
    return false;
}

int CompletionQueue::start_poll() noexcept {
    if (!context().alive()) return ENOENT;
    if (!take_current() && !(context().progress().idle() && take_current())) return ENOENT;
    show_current();
    return 0;
}

int CompletionQueue::next_poll() noexcept {
    // One at a time: completions taken but not read would be missed by ibv_poll_cq and by `purge`.
    if (native_->poll(std::span(&current_, 1)) == 0) return ENOENT;
    show_current();
    return 0;
}

void CompletionQueue::end_poll() noexcept {
    lock_.unlock();
    context().progress().linger();
}

}  // namespace verbline::verbs
