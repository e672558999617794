// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Converts values of rdma/rdma_user_cm.h, rdma/ib_user_verbs.h and rdma/ib_user_sa.h from and to ours. Where programs
/// read a structure whole, fields that we have no value for are zero.

#include <netinet/in.h>  // before linux/in6.h, which then leaves in6_addr to it: one definition

#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_cm.h>

#include "control/rdmacm/event.h"
#include "control/rdmacm/service.h"
#include "datapath/wire/path_record.h"

namespace verbline::verbs {

rdmacm::ConnectParameters to_parameters(const rdma_ucm_conn_param& from);
rdma_ucm_conn_param from_parameters(const rdmacm::ConnectParameters& from);
rdma_ucm_ud_param from_parameters(const rdmacm::DatagramParameters& from);

ib_uverbs_ah_attr from_path(const rdma::Path& path);
ib_uverbs_qp_attr from_attributes(const rdmacm::QueuePairAttributes& from);

ib_user_path_rec from_record(const wire::PathRecord& record);
/// In the SA's wire format, which later commands use.
ib_path_rec_data pack_record(const wire::PathRecord& record);
wire::PathRecord unpack_record(const ib_path_rec_data& data);

}  // namespace verbline::verbs
