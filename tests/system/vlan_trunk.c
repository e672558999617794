// SPDX-License-Identifier: BSD-3-Clause
// VLAN interfaces for kernels without any (8021q), as programs for tc(8): the interface of VLAN N has N as its index; the trunk's
// index is TRUNK.
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#define VLAN_ID 0xfff
#define TYPE_8021Q 0x0081 /* in network order */

static long (*const vlan_push)(struct __sk_buff *, __u16, __u16) = (void *)BPF_FUNC_skb_vlan_push;
static long (*const vlan_pop)(struct __sk_buff *) = (void *)BPF_FUNC_skb_vlan_pop;
static long (*const redirect)(__u32, __u64) = (void *)BPF_FUNC_redirect;

/* What the trunk receives: untagged frames are its own. */
__attribute__((section("trunk"), used)) int from_trunk(struct __sk_buff *frame) {
    if (!frame->vlan_present) return TC_ACT_OK;
    const __u32 id = frame->vlan_tci & VLAN_ID;
    vlan_pop(frame);
    return redirect(id, 0);
}

/* What the interface of a VLAN receives from its host. */
__attribute__((section("vlan"), used)) int to_trunk(struct __sk_buff *frame) {
    vlan_push(frame, TYPE_8021Q, frame->ifindex);
    return redirect(TRUNK, 0);
}
