// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The list of all headers with `parse` and `emit`, for tests and fuzzing of each. A new header is added here.

#include "datapath/wire/aeth.h"
#include "datapath/wire/arp.h"
#include "datapath/wire/atomic_eth.h"
#include "datapath/wire/bth.h"
#include "datapath/wire/class_port_info.h"
#include "datapath/wire/cm_apr.h"
#include "datapath/wire/cm_drep.h"
#include "datapath/wire/cm_dreq.h"
#include "datapath/wire/cm_lap.h"
#include "datapath/wire/cm_mra.h"
#include "datapath/wire/cm_path.h"
#include "datapath/wire/cm_rej.h"
#include "datapath/wire/cm_rep.h"
#include "datapath/wire/cm_req.h"
#include "datapath/wire/cm_rtu.h"
#include "datapath/wire/cm_sidr_rep.h"
#include "datapath/wire/cm_sidr_req.h"
#include "datapath/wire/deth.h"
#include "datapath/wire/dhcp.h"
#include "datapath/wire/dhcpv6.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/feth.h"
#include "datapath/wire/geneve.h"
#include "datapath/wire/gre.h"
#include "datapath/wire/grh.h"
#include "datapath/wire/icmp.h"
#include "datapath/wire/icmpv6.h"
#include "datapath/wire/ieth.h"
#include "datapath/wire/igmp.h"
#include "datapath/wire/immdt.h"
#include "datapath/wire/inform_info.h"
#include "datapath/wire/ip_cm_header.h"
#include "datapath/wire/ipoib.h"
#include "datapath/wire/ipv4.h"
#include "datapath/wire/ipv6.h"
#include "datapath/wire/lrh.h"
#include "datapath/wire/mad.h"
#include "datapath/wire/mcmember_record.h"
#include "datapath/wire/mld.h"
#include "datapath/wire/node_record.h"
#include "datapath/wire/notice.h"
#include "datapath/wire/path_record.h"
#include "datapath/wire/port_info.h"
#include "datapath/wire/reth.h"
#include "datapath/wire/sa.h"
#include "datapath/wire/service_record.h"
#include "datapath/wire/tcp.h"
#include "datapath/wire/udp.h"
#include "datapath/wire/vxlan.h"
#include "datapath/wire/xrceth.h"

namespace verbline::wire {

/// `List` is what holds the types: testing::Types, std::tuple.
template <template <class...> class List>
using EveryHeader =
    List<Aeth, EthernetArp, IpoibArp, AtomicEth, AtomicAckEth, Bth, ClassPortInfo, CmApr, CmDrep, CmDreq, CmLap, CmMra,
         CmPath, CmRej, CmRep, CmReq, CmRtu, CmSidrRep, CmSidrReq, Deth, Dhcp, Dhcpv6, Dhcpv6Relay, Dhcpv6Option,
         Ethernet, Vlan, Feth, Geneve, Gre, Grh, Icmp, Icmpv6, RouterAdvertisement, NeighbourMessage, NdRedirect,
         NdLinkAddress<MacAddress>, NdLinkAddress<IpoibAddress>, NdMtu, NdPrefix, Ieth, Igmp, GroupQueryTail,
         IgmpReport, IgmpRecord, ImmDt, InformInfo, IpCmHeader, IpoibHeader, Ipv4, Ipv6, Lrh, Mad, McMemberRecord, Mld,
         MldReport, MldRecord, NodeInfo, NodeRecord, Notice, PathRecord, PortInfo, PortInfoRecord, Reth, Rmpp, SaHeader,
         ServiceRecord, Tcp, Udp, Vxlan, XrcEth>;

}  // namespace verbline::wire
