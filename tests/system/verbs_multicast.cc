// SPDX-License-Identifier: BSD-3-Clause
// verbs_multicast ROLE DEVICE GID-INDEX MGID[,MLID]...: multicast datagrams, by nothing but the verbs.
//
// The first group is the one that is talked about. In the last, everybody waits for the word that it is over: what was
// sent before has arrived by then.
//
//     member      is in all groups, and says what it has got of the first
//     outsider    is in the last group only
//     sender      is in all groups with two queue pairs: that which sends, and does not hear itself, and another
//
// Prints `ready` when it is in its groups. The sender begins at once: start it last.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <infiniband/verbs.h>

#include <arpa/inet.h>

#include "tests/system/verbs_checks.h"

namespace {

constexpr unsigned messages = 50, depth = 128, slot_size = 64, grh_size = 40;
constexpr unsigned last_word = messages, nothing = messages + 1;
constexpr std::uint32_t qkey = 0x1234, multicast_qpn = 0xffffff;
constexpr std::chrono::seconds limit{20};

struct Group {
    ibv_gid mgid{};
    std::uint16_t mlid = 0;

    explicit Group(const std::string& text) {
        const auto comma = text.find(',');
        if (inet_pton(AF_INET6, text.substr(0, comma).c_str(), mgid.raw) != 1) give_up("MGID", EINVAL);
        if (comma != text.npos) mlid = static_cast<std::uint16_t>(std::stoul(text.substr(comma + 1), nullptr, 0));
    }
};

ibv_context* open_device(const std::string& name) {
    auto** const list = made(ibv_get_device_list(nullptr), "ibv_get_device_list");
    for (auto** device = list; *device != nullptr; ++device) {
        if (name == ibv_get_device_name(*device)) return made(ibv_open_device(*device), "ibv_open_device");
    }
    give_up("no such device", ENODEV);
}

/// A UD queue pair that is ready to send, with all its receives posted.
class Endpoint {
public:
    explicit Endpoint(ibv_pd* pd)
        : cq_(made(ibv_create_cq(pd->context, 2 * depth, nullptr, nullptr, 0), "ibv_create_cq")),
          region_(made(ibv_reg_mr(pd, memory_.data(), memory_.size(), IBV_ACCESS_LOCAL_WRITE), "ibv_reg_mr")) {
        ibv_qp_init_attr attributes{.send_cq = cq_, .recv_cq = cq_, .qp_type = IBV_QPT_UD, .sq_sig_all = 1};
        attributes.cap = {.max_send_wr = depth, .max_recv_wr = depth, .max_send_sge = 1, .max_recv_sge = 1};
        pair_ = made(ibv_create_qp(pd, &attributes), "ibv_create_qp");
        ibv_qp_attr state{.qp_state = IBV_QPS_INIT, .qkey = qkey, .port_num = 1};
        done(ibv_modify_qp(pair_, &state, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY), "to INIT");
        state.qp_state = IBV_QPS_RTR;
        done(ibv_modify_qp(pair_, &state, IBV_QP_STATE), "to RTR");
        state.qp_state = IBV_QPS_RTS;
        done(ibv_modify_qp(pair_, &state, IBV_QP_STATE | IBV_QP_SQ_PSN), "to RTS");
        for (unsigned slot = 0; slot < depth; ++slot) {
            auto segment = segment_at(slot, slot_size);
            ibv_recv_wr request{.wr_id = slot, .sg_list = &segment, .num_sge = 1}, *bad = nullptr;
            done(ibv_post_recv(pair_, &request, &bad), "ibv_post_recv");
        }
    }
    Endpoint(const Endpoint&) = delete;
    Endpoint& operator=(const Endpoint&) = delete;
    ~Endpoint() {
        done(ibv_destroy_qp(pair_), "ibv_destroy_qp");
        done(ibv_dereg_mr(region_), "ibv_dereg_mr");
        done(ibv_destroy_cq(cq_), "ibv_destroy_cq");
    }

    void join(const Group& group) {
        done(ibv_attach_mcast(pair_, &group.mgid, group.mlid), "ibv_attach_mcast");
        done(ibv_attach_mcast(pair_, &group.mgid, group.mlid), "ibv_attach_mcast, once more");
    }
    void leave(const Group& group) {
        if (ibv_destroy_qp(pair_) != EBUSY) give_up("a queue pair was destroyed in a group", EPROTO);
        done(ibv_detach_mcast(pair_, &group.mgid, group.mlid), "ibv_detach_mcast");
        if (ibv_detach_mcast(pair_, &group.mgid, group.mlid) != EINVAL) give_up("left a group twice", EPROTO);
    }

    void send(ibv_ah* to, unsigned number) {
        memory_[depth * slot_size] = static_cast<char>(number);
        auto segment = segment_at(depth, 1);
        ibv_send_wr request{.sg_list = &segment, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad = nullptr;
        request.wr.ud = {.ah = to, .remote_qpn = multicast_qpn, .remote_qkey = qkey};
        done(ibv_post_send(pair_, &request, &bad), "ibv_post_send");
        wait_until([](const ibv_wc& completion) { return completion.opcode == IBV_WC_SEND; });
    }
    void wait_for_last_word() {
        wait_until([this](const ibv_wc&) { return heard_[last_word] != 0; });
    }
    std::string heard() const {
        const auto first = heard_.begin(), end = first + messages;
        if (std::all_of(first, end, [](unsigned times) { return times == 1; })) return "all, once each";
        if (std::all_of(first, end, [](unsigned times) { return times == 0; })) return "nothing";
        std::string text = "times of each:";
        for (auto times = first; times != end; ++times) text += ' ' + std::to_string(*times);
        return text;
    }

private:
    ibv_sge segment_at(unsigned slot, std::uint32_t size) {
        return {.addr = reinterpret_cast<std::uintptr_t>(&memory_[slot * slot_size]),
                .length = size,
                .lkey = region_->lkey};
    }

    template <class Over>
    void wait_until(Over over) {
        const auto end = std::chrono::steady_clock::now() + limit;
        for (;;) {
            ibv_wc completion{};
            const int count = ibv_poll_cq(cq_, 1, &completion);
            if (count < 0) give_up("ibv_poll_cq", EIO);
            if (count == 0) {
                if (std::chrono::steady_clock::now() > end) give_up(heard().c_str(), ETIMEDOUT);
                continue;
            }
            if (completion.status != IBV_WC_SUCCESS) give_up(ibv_wc_status_str(completion.status), EIO);
            if (completion.opcode == IBV_WC_RECV) take(completion);
            if (over(completion)) return;
        }
    }
    void take(const ibv_wc& completion) {
        if ((completion.wc_flags & IBV_WC_GRH) == 0) give_up("a multicast datagram has a GRH", EPROTO);
        const auto number = static_cast<unsigned char>(memory_[completion.wr_id * slot_size + grh_size]);
        ++heard_[std::min<unsigned>(number, nothing)];
    }

    std::array<char, (depth + 1) * slot_size> memory_{};
    std::array<unsigned, messages + 2> heard_{};
    ibv_cq* cq_;
    ibv_mr* region_;
    ibv_qp* pair_ = nullptr;
};

ibv_ah* handle_of(ibv_pd* pd, std::uint8_t gid_index, const Group& group) {
    ibv_ah_attr attributes{.grh = {.dgid = group.mgid, .sgid_index = gid_index, .hop_limit = 1},
                           .dlid = group.mlid,
                           .is_global = 1,
                           .port_num = 1};
    return made(ibv_create_ah(pd, &attributes), "ibv_create_ah");
}

void talk(Endpoint& from, ibv_pd* pd, std::uint8_t gid_index, const Group& topic, const Group& last) {
    auto* const to_topic = handle_of(pd, gid_index, topic);
    auto* const to_last = handle_of(pd, gid_index, last);
    for (unsigned number = 0; number < messages; ++number) from.send(to_topic, number);
    from.send(to_last, last_word);
    ibv_destroy_ah(to_topic);
    ibv_destroy_ah(to_last);
}

}  // namespace

int main(int count, char** words) {
    if (count < 5) give_up("ROLE DEVICE GID-INDEX MGID[,MLID]...", EINVAL);
    const std::string role = words[1];
    const auto gid_index = static_cast<std::uint8_t>(std::stoul(words[3]));
    std::vector<Group> groups(words + 4, words + count);
    const auto topic = groups.front(), last = groups.back();
    if (role == "outsider") groups.erase(groups.begin(), groups.end() - 1);

    auto* const context = open_device(words[2]);
    auto* const pd = made(ibv_alloc_pd(context), "ibv_alloc_pd");
    std::vector<std::unique_ptr<Endpoint>> endpoints;
    for (int i = 0; i < (role == "sender" ? 2 : 1); ++i) {
        endpoints.push_back(std::make_unique<Endpoint>(pd));
        for (const auto& group : groups) endpoints.back()->join(group);
    }
    std::puts("ready");
    std::fflush(stdout);
    if (role == "sender") {
        talk(*endpoints[0], pd, gid_index, topic, last);
        std::printf("the sender itself: %s\n", endpoints[0]->heard().c_str());
    }
    endpoints.back()->wait_for_last_word();
    std::printf("%s: %s\n", role == "sender" ? "beside the sender" : role.c_str(), endpoints.back()->heard().c_str());
    for (auto& endpoint : endpoints) {
        for (const auto& group : groups) endpoint->leave(group);
    }
    endpoints.clear();
    done(ibv_dealloc_pd(pd), "ibv_dealloc_pd");
    done(ibv_close_device(context), "ibv_close_device");
}
