// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/objects/work_builder.h"

#include <cstring>

namespace verbline::verbs {

WorkBuilder::WorkBuilder(rdma::QueuePair& pair, ibv_qp_type type, const ibv_qp_cap& cap)
    : pair_(pair), type_(type), max_segments_(cap.max_send_sge), inlined_(cap.max_inline_data) {}

void WorkBuilder::start() noexcept {
    error_ = 0;
    building_ = false;
}

transport::SendRequest& WorkBuilder::next(ibv_wr_opcode opcode, std::uint64_t id, unsigned flags) noexcept {
    stage();
    const auto& work = work_opcodes[opcode];
    constexpr unsigned known = IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE;
    if (!work.allowed(type_) || (flags & ~known) != 0) fail(EINVAL);
    request_ = {
        .id = id, .operation = work.operation, .flags = static_cast<std::uint8_t>(flags & ~unsigned{IBV_SEND_INLINE})};
    inlined_size_ = 0;
    building_ = true;
    return request_;
}

void WorkBuilder::segments(std::span<const ibv_sge> list) noexcept {
    if (list.size() > max_segments_) return fail(EINVAL);
    const auto converted = to_segments(list.data(), static_cast<int>(list.size()), room_);
    if (!converted) return fail(converted.error());
    request_.segments = *converted;
}

void WorkBuilder::inline_data(const void* from, std::size_t length) noexcept {
    using enum transport::SendOperation;
    const auto kind = request_.operation;
    if (kind == read || kind == compare_swap || kind == fetch_add) return fail(EINVAL);  // no room for the response
    if (length > inlined_.size() - inlined_size_) return fail(EINVAL);
    std::memcpy(inlined_.data() + inlined_size_, from, length);
    inlined_size_ += length;
    room_[0] = {.address = reinterpret_cast<std::uint64_t>(inlined_.data()),
                .length = static_cast<std::uint32_t>(inlined_size_)};
    request_.segments = std::span(room_).first(1);
    request_.flags |= transport::send_inline;
}

void WorkBuilder::stage() noexcept {
    if (!std::exchange(building_, false) || error_ != 0) return;
    if (type_ == IBV_QPT_UD && request_.ud.envelope == nullptr) return fail(EINVAL);
    if (const auto staged = pair_.stage(request_); !staged) fail(static_cast<int>(staged.error()));
}

int WorkBuilder::complete() noexcept {
    stage();
    if (error_ != 0) {
        pair_.withdraw();
    } else {
        pair_.publish();
    }
    return error_;
}

void WorkBuilder::abort() noexcept {
    building_ = false;
    pair_.withdraw();
}

}  // namespace verbline::verbs
