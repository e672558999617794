// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/umad/rmpp_sender.h"

#include <algorithm>
#include <utility>

#include "apps/libibverbs/umad/mad_class.h"

namespace verbline::verbs {

RmppSender::RmppSender(std::vector<std::byte> message, Time timeout, unsigned retries)
    : message_(std::move(message)), timeout_(timeout), retries_(retries), left_(retries) {
    headers_ = data_offset(wire::MadClass{static_cast<std::uint8_t>(message_[1])});
    const auto piece = wire::mad_size - headers_, data = message_.size() - headers_;
    count_ = static_cast<std::uint32_t>(std::max<std::size_t>((data + piece - 1) / piece, 1));
}

/// PayloadLength covers the class headers that each segment carries behind the RMPP header (13.6.2.1): of all segments
/// in the first one, of its own in the last.
mad::MadBuffer RmppSender::segment(std::uint32_t number) const {
    mad::MadBuffer mad{};
    const auto piece = wire::mad_size - headers_, class_headers = headers_ - wire::sa_header_offset;
    const auto from = headers_ + (number - 1) * piece;
    const auto length = std::min(piece, message_.size() - from);
    std::copy_n(message_.begin(), headers_, mad.begin());
    std::copy_n(message_.begin() + static_cast<std::ptrdiff_t>(from), length,
                mad.begin() + static_cast<std::ptrdiff_t>(headers_));
    auto header = wire::Rmpp::parse(std::span(mad).subspan(wire::rmpp_offset)).value_or(wire::Rmpp{});
    header.version = 1;
    header.type = wire::RmppType::data;
    header.flags = wire::rmpp_flag::active;
    header.status = 0;
    header.segment = number;
    header.length = 0;
    if (number == count_) {
        header.flags |= wire::rmpp_flag::last;
        header.length = static_cast<std::uint32_t>(class_headers + length);
    }
    if (number == 1) {
        header.flags |= wire::rmpp_flag::first;
        header.length = static_cast<std::uint32_t>(message_.size() - headers_ + count_ * class_headers);
    }
    header.emit(std::span(mad).subspan<wire::rmpp_offset, wire::Rmpp::size>());
    return mad;
}

void RmppSender::send_window(Time now, Segments& out) {
    while (sent_ < std::min(window_, count_)) out.push_back(segment(++sent_));
    due_ = now + timeout_;
}

void RmppSender::start(Time now, Segments& out) {
    send_window(now, out);
}

RmppSender::State RmppSender::answered(const wire::Rmpp& answer, Time now, Segments& out) {
    if (answer.type == wire::RmppType::stop || answer.type == wire::RmppType::abort) return State::failed;
    if (answer.type != wire::RmppType::ack) return State::sending;
    if (answer.segment > sent_ || answer.length < answer.segment) return State::sending;  // of nothing that was sent
    if (answer.segment < acknowledged_) return State::sending;                            // late
    if (answer.segment > acknowledged_) left_ = retries_;
    acknowledged_ = answer.segment;
    window_ = std::max(window_, answer.length);
    if (acknowledged_ == count_) return State::acknowledged;
    send_window(now, out);
    return State::sending;
}

/// Repeats what was sent and not acknowledged.
RmppSender::State RmppSender::tick(Time now, Segments& out) {
    if (now < due_) return State::sending;
    if (left_ == 0) return State::failed;
    --left_;
    sent_ = acknowledged_;
    send_window(now, out);
    return State::sending;
}

}  // namespace verbline::verbs
