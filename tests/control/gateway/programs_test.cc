// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/programs.h"

#include <gtest/gtest.h>

#include "control/gateway/program_commands.h"
#include "tests/datapath/program/bpf_objects.h"
#include "tests/support/fib_readers.h"

namespace verbline::gateway {
namespace {

using program::bpf_objects::object_file;
using Json = nlohmann::ordered_json;

GatewayConfig two_port_config() {
    return {.file = "gw.toml",
            .name = "gw",
            .netns = "",
            .ports = {{.name = "left", .lines = {.port = 3, .program = 7}}, {.name = "right", .lines = {.port = 9}}},
            .routes = {}};
}

class ProgramsTest : public ::testing::Test {
protected:
    std::string error(const Result<std::string>& result) {
        EXPECT_FALSE(result);
        return result ? *result : result.error().what;
    }
    /// Of a command that is carried out.
    std::string said(const Json& request) {
        const auto result = command(request);
        return result ? *result : "error: " + result.error().what;
    }
    Result<std::string> command(const Json& request) { return run_program_command(programs_, request); }
    const Programs::Port& left() const { return programs_.ports()[0]; }

    test::FibReaders readers_ = test::fib_readers();
    GatewayConfig config_ = two_port_config();
    Programs programs_{config_.ports, 1, *readers_};
    const std::string file_ = object_file("programs");
};

TEST_F(ProgramsTest, ThoseOfTheConfigurationAreLoaded) {
    config_.ports[0].program = object_file("drop_prefixes");
    ASSERT_TRUE(programs_.load_all(config_));
    EXPECT_EQ(left().running()->section(), "drop_prefixes");
    EXPECT_EQ(left().source().file, config_.ports[0].program);
    EXPECT_EQ(programs_.ports()[1].running(), nullptr);
}

TEST_F(ProgramsTest, ABadOneIsAnErrorOfItsLine) {
    config_.ports[0].program = "/nonexistent.o";
    EXPECT_EQ(programs_.load_all(config_).error().what,
              "gw.toml:7: program of left: /nonexistent.o: No such file or directory");
    config_.ports[0].program = file_, config_.ports[0].program_section = "beyond";
    const auto error = programs_.load_all(config_).error().what;
    EXPECT_TRUE(
        error.starts_with("gw.toml:7: program of left: " + file_ + ": section beyond: the verifier refuses it: "))
        << error;
}

TEST_F(ProgramsTest, LoadReplaceAndUnload) {
    EXPECT_EQ(error(programs_.replace("left", {file_, "pass"})), "left has no program: load one");
    EXPECT_EQ(error(programs_.unload("left")), "left has no program");
    const auto loaded = programs_.load("left", {file_, "pass"});
    ASSERT_TRUE(loaded) << loaded.error().what;
    EXPECT_TRUE(loaded->starts_with("left runs pass of " + file_ + ": 2 instructions, ")) << *loaded;
    EXPECT_EQ(error(programs_.load("left", {file_, "drop"})),
              "left has a program, " + file_ + ": replace or unload it");
    EXPECT_EQ(left().running()->section(), "pass");
    ASSERT_TRUE(programs_.replace("left", {file_, "drop"}));
    EXPECT_EQ(left().running()->section(), "drop");
    EXPECT_EQ(left().source().section, "drop");
    EXPECT_EQ(left().loads(), 2u);
    programs_.reclaim();
    EXPECT_EQ(left().engine().retired(), 0u) << "no shard reads";
    EXPECT_EQ(*programs_.unload("left"), "left has no program any more; it was " + file_);
    EXPECT_EQ(left().running(), nullptr);
    EXPECT_EQ(error(programs_.load("middle", {file_, "drop"})), "there is no port middle, but left, right");
}

TEST_F(ProgramsTest, ARefusedOneLeavesTheOld) {
    ASSERT_TRUE(programs_.load("left", {file_, "pass"}));
    const auto* const running = left().running();
    for (const auto* section : {"beyond", "unknown", "own_data", "nothing", ""})
        EXPECT_FALSE(programs_.replace("left", {file_, section})) << section;
    EXPECT_FALSE(programs_.replace("left", {"/nonexistent.o", ""}));
    EXPECT_EQ(left().running(), running);
    EXPECT_EQ(left().source().section, "pass");
    EXPECT_EQ(left().loads(), 1u);
}

TEST_F(ProgramsTest, PrefixesOfAPort) {
    EXPECT_EQ(said({{"command", "program_prefix_add"},
                    {"port", "left"},
                    {"prefixes", Json::array({"10.9.0.0/16", "fd76:9::/32"})},
                    {"value", 7u}}),
              "2 prefixes added");
    EXPECT_EQ(left().engine().prefixes().ipv4.lookup(wire::ipv4(10, 9, 1, 1)), 7u);
    EXPECT_EQ(said({{"command", "program_prefix_add"}, {"port", "left"}, {"prefixes", Json::array({"10.9.0.0/16"})}}),
              "1 prefix added");
    EXPECT_EQ(left().engine().prefixes().ipv4.lookup(wire::ipv4(10, 9, 1, 1)), 1u) << "its value is another now";
    EXPECT_EQ(programs_.ports()[1].engine().prefixes().ipv4.lookup(wire::ipv4(10, 9, 1, 1)), 0u);
    EXPECT_EQ(error(command({{"command", "program_prefix_delete"},
                             {"port", "left"},
                             {"prefixes", Json::array({"10.9.0.0/16", "10.8.0.0/16"})}})),
              "left has no prefix 10.8.0.0/16");
    EXPECT_EQ(left().ipv4().size(), 1u) << "all or none";
    EXPECT_TRUE(
        command({{"command", "program_prefix_delete"}, {"port", "left"}, {"prefixes", Json::array({"10.9.0.0/16"})}}));
    EXPECT_EQ(left().engine().prefixes().ipv4.lookup(wire::ipv4(10, 9, 1, 1)), 0u);
    EXPECT_EQ(left().ipv6().size(), 1u);
}

TEST_F(ProgramsTest, RequestsAreNotTrusted) {
    const auto add = [](const Json& prefixes, const Json& value = 1) {
        return Json{{"command", "program_prefix_add"}, {"port", "left"}, {"prefixes", prefixes}, {"value", value}};
    };
    EXPECT_EQ(error(command(Json::object())), "there is no command ");
    EXPECT_EQ(error(command({{"command", 7}})), "there is no command ");
    EXPECT_EQ(error(command({{"command", "program_load"}, {"port", "left"}, {"file", "drop.o"}})),
              "the file of a program is given from the root directory on");
    EXPECT_EQ(error(command(add(Json::array()))), "no prefixes are named");
    EXPECT_EQ(error(command(add("10.9.0.0/16"))), "no prefixes are named");
    EXPECT_EQ(error(command(add({"10.9.0.0/16", 7}))), "7 is no network such as 10.9.0.0/16 or fd76:9::/32");
    EXPECT_EQ(error(command(add(Json::array({"10.9.0.1/16"})))),
              "10.9.0.1/16 has bits behind the prefix; did you mean 10.9.0.0/16?");
    for (const Json& value : {Json(0), Json(-1), Json("1"), Json(1.5), Json(4'294'967'296)})
        EXPECT_EQ(error(command(add(Json::array({"10.9.0.0/16"}), value))),
                  "the value of a prefix is a number from 1 to 4294967295");
    EXPECT_TRUE(left().ipv4().empty());
}

TEST_F(ProgramsTest, AReloadPreparesBeforeAnythingChanges) {
    ASSERT_TRUE(programs_.load("left", {file_, "pass"}));
    auto running = config_, wanted = config_;
    running.ports[0].program = file_, running.ports[0].program_section = "pass";
    wanted.ports[0].program = file_, wanted.ports[0].program_section = "beyond";
    auto changes = *changes_between(running, wanted);
    const auto refused = programs_.prepare(changes, running, wanted);
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().what.starts_with("gw.toml:7: program of left: ")) << refused.error().what;
    wanted.ports[0].program = wanted.ports[0].program_section = "";
    wanted.ports[1].program = file_, wanted.ports[1].program_section = "drop";
    changes = *changes_between(running, wanted);
    auto prepared = programs_.prepare(changes, running, wanted);
    ASSERT_TRUE(prepared) << prepared.error().what;
    EXPECT_EQ(left().running()->section(), "pass");
    programs_.publish(std::move(*prepared));
    EXPECT_EQ(left().running(), nullptr);
    EXPECT_EQ(programs_.ports()[1].running()->section(), "drop");
    EXPECT_EQ(programs_.ports()[1].source().section, "drop");
}

}  // namespace
}  // namespace verbline::gateway
