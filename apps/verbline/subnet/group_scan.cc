// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/subnet/group_scan.h"

#include <memory>
#include <span>

namespace verbline::cli {
namespace {

namespace component = wire::mcmember_component;
using Record = wire::McMemberRecord;
using Answers = std::vector<sa::Answer<Record>>;

struct Question {
    Record record;
    wire::ComponentMask components;
};

/// Sends all queries at once and waits for the responses, in the order of the queries.
std::expected<Answers, sa::Failure> ask_all(SubnetSession& session, sa::Client& client,
                                            std::span<const Question> questions) {
    const sa::Failure timed_out{.reason = sa::Failure::Reason::timed_out};
    const auto answers = std::make_shared<Answers>(questions.size(), std::unexpected(timed_out));
    const auto missing = std::make_shared<std::size_t>(questions.size());
    for (std::size_t i = 0; i < questions.size(); ++i)
        client.membership(wire::MadMethod::get, questions[i].record, questions[i].components,
                          [=](const sa::Answer<Record>& answer) { (*answers)[i] = answer, --*missing; });
    session.run_until([&] { return *missing == 0; }, answer_limit);
    for (const auto& answer : *answers)
        if (!answer && answer.error().reason != sa::Failure::Reason::refused) return std::unexpected(answer.error());
    return std::move(*answers);
}

/// The groups of `count` MLIDs from `first` on.
std::expected<std::vector<ScannedGroup>, sa::Failure> scan_block(SubnetSession& session, sa::Client& client,
                                                                 std::uint16_t first, std::uint16_t count) {
    std::vector<Question> questions;
    questions.reserve(count);
    for (std::uint16_t i = 0; i < count; ++i)
        questions.push_back({{.mlid = wire::Lid{static_cast<std::uint16_t>(first + i)}}, component::mlid});
    const auto answers = ask_all(session, client, questions);
    if (!answers) return std::unexpected(answers.error());
    std::vector<ScannedGroup> groups;
    for (std::size_t i = 0; i < answers->size(); ++i) {
        const auto& answer = (*answers)[i];
        if (answer)
            groups.push_back({.record = *answer});
        else if (answer.error().status == sa::SaStatus::too_many_records)
            groups.push_back({.record = questions[i].record, .shared_mlid = true});
    }
    return groups;
}

}  // namespace

std::expected<std::vector<ScannedGroup>, sa::Failure> scan_groups(SubnetSession& session, sa::Client& client) {
    constexpr std::uint16_t block = 256;
    std::vector<ScannedGroup> groups;
    for (std::uint32_t first = 0xc000; first < 0xff00; first += block) {
        auto more = scan_block(session, client, static_cast<std::uint16_t>(first), block);
        if (!more) return more;
        if (more->empty()) break;
        groups.insert(groups.end(), more->begin(), more->end());
    }
    for (auto& group : groups) {
        if (group.shared_mlid) continue;
        const auto states = joined_states(session, client, group.record.mgid);
        if (!states) return std::unexpected(states.error());
        group.joined = *states;
    }
    return groups;
}

std::expected<wire::JoinState, sa::Failure> joined_states(SubnetSession& session, sa::Client& client,
                                                          const wire::Gid& mgid) {
    constexpr unsigned join_states = 15;
    std::vector<Question> questions;
    questions.reserve(join_states);
    for (unsigned state = 1; state <= join_states; ++state)
        questions.push_back(
            {{.mgid = mgid, .port_gid = session.port().gid(), .join_state = static_cast<wire::JoinState>(state)},
             component::mgid | component::port_gid | component::join_state});
    const auto answers = ask_all(session, client, questions);
    if (!answers) return std::unexpected(answers.error());
    // OpenSM compares for equality; with an SM that tests for set bits, the union of the results is the same.
    unsigned joined = 0;
    for (unsigned state = 1; state <= join_states; ++state)
        if ((*answers)[state - 1]) joined |= state;
    return static_cast<wire::JoinState>(joined);
}

}  // namespace verbline::cli
