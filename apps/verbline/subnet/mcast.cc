// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/subnet/mcast.h"

#include <cstdio>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "apps/verbline/output/record_view.h"
#include "apps/verbline/subnet/group_scan.h"
#include "apps/verbline/subnet/subnet_session.h"
#include "control/sa/groups.h"
#include "datapath/wire/ipoib.h"
#include "datapath/wire/text.h"

namespace verbline::cli {
namespace {

/// Interval at which a membership is requested again: a restarted subnet manager has lost it; else nothing changes.
constexpr Time refresh_period = 2 * second;

std::unexpected<Failure> sa_failure(const wire::Gid& mgid, const std::string& why) {
    return run_failure(fmt::format("{}: {}", wire::to_string(mgid), why));
}

class Mcast final : public Command {
public:
    Manual manual() const override {
        return {
            .name = "mcast",
            .summary = "join, leave or list multicast groups",
            .synopsis =
                "--sm SM join MGID [--send-only] [--pkey P] [--json]\n"
                "--sm SM leave MGID [--send-only]\n"
                "--sm SM list [--json]",
            .description =
                {"join makes the port a member of the group, prints its attributes as the subnet administrator "
                 "returns them, keeps the membership through restarts of the subnet manager, and ends it on Ctrl-C. A "
                 "group that does not exist yet is created like the partition's IPoIB broadcast group. "
                 "leave ends a membership; list prints every group of the subnet and how this port is in "
                 "it.",
                 "The subnet administrator knows ports, not programs: leave also takes the group from any "
                 "other program that uses it on this port. join does not: if the port was a member before, "
                 "it stays one.",
                 "SM is where the subnet manager is reached: ibsim:FABRIC,host=NODE for a simulated fabric, "
                 "umad:DEVICE,port=N for an adapter."},
            .examples = {{"verbline mcast --sm ibsim:vl,host=H2 list", "all groups of the fabric vl"},
                         {"verbline mcast --sm ibsim:vl,host=H2 join ff12:401b:ffff::1", "join a group until Ctrl-C"}},
            .see_also = {"verbline-path(1)", "verbline-show(1)"},
        };
    }

    void declare(CLI::App& app) override {
        app.set_help_flag("-h,--help", "print this help");
        app.add_option("--sm", sm_, "where the subnet manager is reached")->required()->type_name("SM");
        app.add_option("ACTION", action_, "join, leave or list")->required();
        app.add_option("MGID", mgid_, "the group, e.g. ff12:401b:ffff::ffff:ffff");
        app.add_flag("--send-only", send_only_, "as a member that only sends");
        app.add_option("--pkey", pkey_, "the partition of a group that join creates; without it, 0xffff")
            ->type_name("P");
        app.add_flag("--json", json_, "print JSON");
    }

    Outcome run(const CommandContext& /*context*/) override {
        if (action_ != "join" && action_ != "leave" && action_ != "list")
            return usage_failure(fmt::format("mcast: {} is neither join, leave nor list", action_));
        if (action_ == "list" && !mgid_.empty()) return usage_failure("mcast: list takes no MGID");
        const auto mgid = wire::from_string<wire::Gid>(mgid_).value_or(wire::Gid{});
        if (action_ != "list" && !mgid.multicast())
            return usage_failure(fmt::format("mcast: {} needs an MGID such as ff12:401b:ffff::1", action_));
        const auto pkey = wire::from_string<wire::PKey>(pkey_);
        if (!pkey) return usage_failure(fmt::format("mcast: {} is no P_Key such as 0x8001", pkey_));
        auto session = SubnetSession::open(sm_);
        if (!session) return std::unexpected(session.error());
        if (action_ == "list") return list(*session);
        return action_ == "join" ? join(*session, mgid, *pkey) : leave(*session, mgid);
    }

private:
    wire::JoinState state() const {
        return send_only_ ? wire::join_state::send_only_non_member : wire::join_state::full_member;
    }

    Outcome list(SubnetSession& session) const {
        sa::Client client(session.transport(), session.loop());
        const auto groups = scan_groups(session, client);
        if (!groups) return run_failure("list: " + sa::describe(groups.error()));
        Json rows = Json::array();
        for (const auto& group : *groups) {
            Json row = group_row(group.record.mgid, sa::group_of(group.record));
            if (group.shared_mlid) row = {{"mgid", "several"}, {"mlid", wire::to_string(group.record.mlid)}};
            row["joined"] = join_state_text(group.joined);
            rows.push_back(std::move(row));
        }
        fmt::print("{}", json_ ? render_json(rows) : render_table(rows));
        return {};
    }

    Outcome leave(SubnetSession& session, const wire::Gid& mgid) const {
        sa::Client client(session.transport(), session.loop());
        const auto answer = remove(session, client, mgid, state());
        if (!answer && answer.error().status == sa::SaStatus::invalid_request)
            return sa_failure(mgid, "this port is no such member of it");
        if (!answer) return sa_failure(mgid, sa::describe(answer.error()));
        return {};
    }

    static sa::Answer<wire::McMemberRecord> remove(SubnetSession& session, sa::Client& client, const wire::Gid& mgid,
                                                   wire::JoinState states) {
        namespace component = wire::mcmember_component;
        return await<wire::McMemberRecord>(session, [&](sa::ReplyHandler<wire::McMemberRecord> reply) {
            client.membership(wire::MadMethod::remove,
                              {.mgid = mgid, .port_gid = session.port().gid(), .join_state = states},
                              component::mgid | component::port_gid | component::join_state, std::move(reply));
        });
    }

    /// Does without sa::Groups, which owns all of a port's memberships: these are the port's, not this program's.
    Outcome join(SubnetSession& session, const wire::Gid& mgid, wire::PKey pkey) const {
        sa::Client client(session.transport(), session.loop());
        const auto before = joined_states(session, client, mgid);
        if (!before) return sa_failure(mgid, sa::describe(before.error()));
        const auto how = parameters(session, client, mgid, pkey);
        if (!how) return sa_failure(mgid, "no such group, and no IPoIB broadcast group to create it like");
        const auto request = sa::join_request(mgid, session.port().gid(), state(), *how);
        const auto ask = [&](sa::ReplyHandler<wire::McMemberRecord> reply) {
            client.membership(wire::MadMethod::set, request.first, request.second, std::move(reply));
        };
        SubnetSession::hold_signals();  // once joined, leave
        const auto joined = await<wire::McMemberRecord>(session, ask);
        if (!joined) return sa_failure(mgid, sa::describe(joined.error()));
        const auto row = group_row(mgid, sa::group_of(*joined));
        fmt::print("{}", json_ ? render_json(row) : render_object(row));
        std::fflush(stdout);

        auto refresh = session.loop().every(refresh_period, [&] { ask([](const auto&) {}); });
        if (auto outcome = session.run_until_signal(); !outcome) return outcome;
        refresh.cancel();
        if (const auto ours = static_cast<wire::JoinState>(state() & ~*before); ours != 0)
            if (const auto left = remove(session, client, mgid, ours); !left)
                return sa_failure(mgid, sa::describe(left.error()));
        return {};
    }

    /// Parameters to join with: an existing group's own, or those of its partition's broadcast group (RFC 4391, 5).
    static std::expected<sa::JoinParameters, sa::Failure> parameters(SubnetSession& session, sa::Client& client,
                                                                     const wire::Gid& mgid, wire::PKey pkey) {
        if (const auto group = find(session, client, mgid)) return sa::JoinParameters{.pkey = group->pkey};
        const auto like = find(session, client, wire::ipoib_broadcast_mgid(pkey));
        if (!like) return std::unexpected(like.error());
        return sa::JoinParameters{.pkey = pkey, .create_like = sa::group_of(*like)};
    }

    static sa::Answer<wire::McMemberRecord> find(SubnetSession& session, sa::Client& client, const wire::Gid& mgid) {
        return await<wire::McMemberRecord>(session, [&](sa::ReplyHandler<wire::McMemberRecord> reply) {
            client.membership(wire::MadMethod::get, {.mgid = mgid}, wire::mcmember_component::mgid, std::move(reply));
        });
    }

    std::string sm_, action_, mgid_, pkey_ = "0xffff";
    bool send_only_ = false;
    bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_mcast() {
    return std::make_unique<Mcast>();
}

}  // namespace verbline::cli
