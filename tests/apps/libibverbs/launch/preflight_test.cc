// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/launch/preflight.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/apps/verbline/scratch.h"
#include "tests/support/namespace.h"

namespace verbline::verbs {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class Preflight : public testing::Test {
protected:
    std::string verdict(const Settings& settings) const {
        const auto good = check_links(settings, "/no/such/verbline");
        return good ? "good" : good.error().what;
    }
    Settings with(const std::string& link) const {
        return {.links = {parse_link(link).value()}, .addresses = {}, .impair = {}, .capture = {}, .sysfs = {}};
    }
    Settings on_memif() const { return with("memif:" + (scratch_.path() / "a.sock").string()); }

    cli::Scratch scratch_;
    // Hubs of this test's own, which are none.
    cli::Variable runtime_{"XDG_RUNTIME_DIR", scratch_.path()};
};

TEST_F(Preflight, PassesWhatIsThere) {
    EXPECT_EQ(verdict(on_memif()), "good");
}

TEST_F(Preflight, NamesTheLinkThatIsNotThere) {
    EXPECT_THAT(verdict(with("memif:/no/such/a.sock")), StartsWith("memif:/no/such/a.sock: there is no directory"));
    EXPECT_THAT(verdict(with("hub:no-such-hub")), HasSubstr("no-such-hub"));
    EXPECT_THAT(verdict(with("ib:H2@no-such-fabric")),
                HasSubstr("no ibsim fabric named 'no-such-fabric' is running: start ibsim"));
}

TEST_F(Preflight, LooksAtEveryLink) {
    auto settings = on_memif();
    settings.links.push_back(parse_link("ib:H2@no-such-fabric").value());
    EXPECT_THAT(verdict(settings), StartsWith("ib:H2@no-such-fabric: "));
}

TEST_F(Preflight, GivesTheAddressesToTheFirstEthernetLink) {
    SKIP_UNLESS_ROOT();
    const test::Namespace place;
    place.run("ip link add one type veth peer name two");
    place.run("ip link set one up");
    place.run("ip link set two up");
    place.run("ip address add 10.9.0.1/24 dev two");
    place.enter([&] {
        auto settings = on_memif();
        settings.addresses = {parse_address("10.9.0.1/24").value()};
        settings.links.push_back(parse_link("eth:two").value());
        EXPECT_EQ(verdict(settings), "good");
        std::swap(settings.links[0], settings.links[1]);
        EXPECT_THAT(verdict(settings), StartsWith("eth:two: address 10.9.0.1/24 is this host's own"));
    });
}

TEST_F(Preflight, ReadsTheImpairment) {
    auto settings = on_memif();
    settings.impair = "loss=2";
    EXPECT_THAT(verdict(settings), HasSubstr("loss=2"));
    settings.impair = "loss=0.5";
    EXPECT_EQ(verdict(settings), "good");
}

TEST_F(Preflight, NeedsACaptureThatCanBeWritten) {
    auto settings = on_memif();
    settings.capture = "/no/such/place/a.pcapng";
    EXPECT_THAT(verdict(settings), HasSubstr("cannot capture to /no/such/place/a.pcapng: No such file"));
    settings.capture = scratch_.path();
    EXPECT_THAT(verdict(settings), HasSubstr("is a directory"));
    settings.capture = scratch_.write("old.pcapng", "kept");
    EXPECT_EQ(verdict(settings), "good");
    std::ifstream kept(settings.capture);
    std::string text;
    kept >> text;
    EXPECT_EQ(text, "kept") << "asking writes nothing";
    settings.capture = scratch_.path() / "new.pcapng";
    EXPECT_EQ(verdict(settings), "good");
    EXPECT_FALSE(std::filesystem::exists(settings.capture));
}

TEST_F(Preflight, SeesContradictions) {
    auto settings = on_memif();
    settings.links.push_back(settings.links[0]);
    EXPECT_THAT(verdict(settings), HasSubstr("given twice"));
}

TEST_F(Preflight, ChecksTheProgramFirst) {
    const auto good = preflight(with("memif:/no/such/a.sock"),
                                {.program = "/proc/self/exe", .library = "/no/such/library", .hub_program = {}});
    ASSERT_FALSE(good);
    EXPECT_THAT(good.error().what, HasSubstr("/no/such/library"));
}

}  // namespace
}  // namespace verbline::verbs
