// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/ucma/values.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include <endian.h>

namespace verbline::verbs {
namespace {

constexpr std::uint32_t qpn_mask = 0xff'ffff;
constexpr std::uint32_t whole_path = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;

std::uint32_t number(wire::Qpn qpn) {
    return static_cast<std::uint32_t>(qpn);
}

cm::PrivateData to_data(std::span<const __u8> bytes, std::size_t length) {
    const auto data = std::as_bytes(bytes.first(std::min(length, bytes.size())));
    return {data.begin(), data.end()};
}

template <class Parameters>
void set_data(const cm::PrivateData& from, Parameters& to) {
    const auto length = std::min<std::size_t>(from.size(), UINT8_MAX);
    if (length != 0) std::memcpy(to.private_data, from.data(), length);
    to.private_data_len = static_cast<__u8>(length);
}

}  // namespace

rdmacm::ConnectParameters to_parameters(const rdma_ucm_conn_param& from) {
    return {.qpn = wire::Qpn{from.qp_num & qpn_mask},
            .qkey = wire::QKey{from.qkey},
            .valid = from.valid != 0,
            .shared_receive_queue = from.srq != 0,
            .responder_resources = from.responder_resources,
            .initiator_depth = from.initiator_depth,
            .flow_control = from.flow_control != 0,
            // Three bits each in REQ and REP (IBTA 12.6.5, 12.6.8); programs pass 15.
            .retry_count = std::min<std::uint8_t>(from.retry_count, 7),
            .rnr_retry_count = std::min<std::uint8_t>(from.rnr_retry_count, 7),
            .private_data = to_data(from.private_data, from.private_data_len)};
}

rdma_ucm_conn_param from_parameters(const rdmacm::ConnectParameters& from) {
    rdma_ucm_conn_param to{};
    to.qp_num = number(from.qpn);
    to.qkey = static_cast<std::uint32_t>(from.qkey);
    to.srq = from.shared_receive_queue ? 1 : 0;
    to.responder_resources = from.responder_resources;
    to.initiator_depth = from.initiator_depth;
    to.flow_control = from.flow_control ? 1 : 0;
    to.retry_count = from.retry_count;
    to.rnr_retry_count = from.rnr_retry_count;
    set_data(from.private_data, to);
    return to;
}

rdma_ucm_ud_param from_parameters(const rdmacm::DatagramParameters& from) {
    rdma_ucm_ud_param to{};
    to.qp_num = number(from.qpn);
    to.qkey = static_cast<std::uint32_t>(from.qkey);
    to.ah_attr = from_path(from.path);
    set_data(from.private_data, to);
    return to;
}

ib_uverbs_ah_attr from_path(const rdma::Path& path) {
    ib_uverbs_ah_attr to{};
    const auto& address = path.address;
    to.dlid = static_cast<__u16>(address.dlid);
    to.sl = address.sl;
    to.port_num = 1;
    to.is_global = address.global ? 1 : 0;
    if (!address.global) return to;
    std::memcpy(to.grh.dgid, address.dgid.bytes.data(), sizeof to.grh.dgid);
    to.grh.flow_label = address.flow_label;
    to.grh.sgid_index = static_cast<__u8>(path.gid_index);
    to.grh.hop_limit = address.hop_limit;
    to.grh.traffic_class = address.traffic_class;
    return to;
}

ib_uverbs_qp_attr from_attributes(const rdmacm::QueuePairAttributes& from) {
    ib_uverbs_qp_attr to{};
    to.qp_attr_mask = from.mask;
    to.qp_state = static_cast<std::uint32_t>(from.state);
    to.path_mtu = from.mtu;
    to.qkey = static_cast<std::uint32_t>(from.qkey);
    to.rq_psn = from.receive_psn.value();
    to.sq_psn = from.send_psn.value();
    to.dest_qp_num = number(from.destination);
    to.qp_access_flags = from.access_flags;
    to.ah_attr = from_path(from.path);
    to.pkey_index = from.pkey_index;
    to.max_rd_atomic = from.max_reads;
    to.max_dest_rd_atomic = from.max_destination_reads;
    to.min_rnr_timer = from.min_rnr_timer;
    to.port_num = 1;
    to.timeout = from.timeout;
    to.retry_cnt = from.retry_count;
    to.rnr_retry = from.rnr_retry;
    return to;
}

ib_user_path_rec from_record(const wire::PathRecord& record) {
    ib_user_path_rec to{};
    std::memcpy(to.dgid, record.destination_gid.bytes.data(), sizeof to.dgid);
    std::memcpy(to.sgid, record.source_gid.bytes.data(), sizeof to.sgid);
    to.dlid = htobe16(static_cast<std::uint16_t>(record.destination_lid));
    to.slid = htobe16(static_cast<std::uint16_t>(record.source_lid));
    to.raw_traffic = record.raw_traffic ? 1 : 0;
    to.flow_label = htobe32(record.flow_label);
    to.reversible = record.reversible ? 1 : 0;
    to.mtu = static_cast<std::uint32_t>(record.mtu);
    to.pkey = htobe16(static_cast<std::uint16_t>(record.pkey));
    to.hop_limit = record.hop_limit;
    to.traffic_class = record.traffic_class;
    to.numb_path = record.path_count;
    to.sl = record.service_level;
    to.mtu_selector = static_cast<__u8>(record.mtu_selector);
    to.rate_selector = static_cast<__u8>(record.rate_selector);
    to.rate = record.rate;
    to.packet_life_time_selector = static_cast<__u8>(record.lifetime_selector);
    to.packet_life_time = record.lifetime;
    to.preference = record.preference;
    return to;
}

ib_path_rec_data pack_record(const wire::PathRecord& record) {
    static_assert(sizeof(ib_path_rec_data::path_rec) == wire::PathRecord::size);
    ib_path_rec_data to{};
    to.flags = whole_path;
    std::array<std::byte, wire::PathRecord::size> bytes;
    record.emit(bytes);
    std::memcpy(to.path_rec, bytes.data(), bytes.size());
    return to;
}

wire::PathRecord unpack_record(const ib_path_rec_data& data) {
    return *wire::PathRecord::parse(std::as_bytes(std::span(data.path_rec)));
}

}  // namespace verbline::verbs
