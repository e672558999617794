// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/trace/trace_file.h"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pmd/base/clock.h"
#include "tests/support/stranger.h"

namespace verbline::pmd {
namespace {

constexpr std::uint64_t cycles_per_second = 2'000'000'000;

class TraceFileTest : public testing::Test {
protected:
    Result<TraceFile> make(unsigned shard = 0) const {
        return TraceFile::create(
            place.path(), {.shard = shard, .lcore = 5, .ports = {"lan", "a-port-with-a-long-name"}}, cycles_per_second);
    }
    const test::Place place;
    const std::filesystem::path path = place.path() / "trace.0";
};

TEST_F(TraceFileTest, TellsWhatWasRecorded) {
    const auto before = utc_now();
    const auto file = make();
    ASSERT_TRUE(file) << file.error().what;
    Trace trace(&file->ring());
    trace.record(TraceEvent::received, 0, 32);
    trace.record(TraceEvent::resting);
    const auto record = read_trace(path);
    ASSERT_TRUE(record) << record.error().what;
    EXPECT_EQ(record->pid, getpid());
    EXPECT_EQ(record->owner.lcore, 5u);
    EXPECT_EQ(record->recorded, 2u);
    ASSERT_EQ(record->events.size(), 2u);
    EXPECT_EQ(record->events[0].entry.event, TraceEvent::received);
    EXPECT_EQ(record->events[0].entry.value, 32u);
    EXPECT_GE(record->events[0].utc, before);
    EXPECT_EQ(record->events[1].entry.event, TraceEvent::resting);
    EXPECT_GE(record->events[1].utc, record->events[0].utc);
    EXPECT_EQ(record->port_name(0), "lan");
    EXPECT_EQ(record->port_name(1), "a-port-with-a-l");
    EXPECT_EQ(record->port_name(2), "2");
    EXPECT_EQ(record->port_name(Trace::no_port), "");
}

TEST_F(TraceFileTest, IsOfItsUserAlone) {
    const auto file = make();
    struct stat about{};
    ASSERT_EQ(stat(path.c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0600u);
}

/// The file is given a rate that is far too low, so that its clock runs away from the moment that was noted last.
TEST_F(TraceFileTest, TimesAreCountedFromTheMomentThatWasNotedLast) {
    constexpr std::uint64_t rate = 1'000'000, apart = 20 * rate;
    auto file = TraceFile::create(place.path(), {.ports = {}}, rate);
    ASSERT_TRUE(file);
    const auto made = rte_rdtsc();
    while (rte_rdtsc() < made + apart) {}
    const auto before = rte_rdtsc();
    file->note_time();
    const auto after = rte_rdtsc();
    const auto noted = utc_now();
    file->ring().record({.cycles = before, .event = TraceEvent::awake});
    const auto record = read_trace(path);
    ASSERT_TRUE(record);
    // As much earlier as the note took, however long that was; counted from the file's making, 20 s later.
    const auto took = static_cast<Time>(after - before) * microsecond;
    EXPECT_LE(record->events[0].utc, noted);
    EXPECT_GE(record->events[0].utc, noted - took - second);
}

TEST_F(TraceFileTest, OfAFullRingTheOldestIsLeftOut) {
    const auto file = make();
    ASSERT_TRUE(file);
    Trace trace(&file->ring());
    for (std::size_t i = 0; i < 2 * TraceRing::capacity; ++i) trace.record(TraceEvent::commands, 0, i);
    const auto record = read_trace(path);
    ASSERT_TRUE(record);
    ASSERT_EQ(record->events.size(), TraceRing::capacity - 1);
    EXPECT_EQ(record->events.front().entry.value, TraceRing::capacity + 1);
    EXPECT_EQ(record->events.back().entry.value, 2 * TraceRing::capacity - 1);
}

TEST_F(TraceFileTest, IsReadWhileItIsWritten) {
    const auto file = make();
    ASSERT_TRUE(file);
    std::atomic<bool> stop = false;
    std::jthread writer([&] {
        for (std::uint32_t i = 0; !stop; ++i)
            file->ring().record(
                {.cycles = i, .event = TraceEvent::received, .port = static_cast<std::uint16_t>(i), .value = i});
    });
    for (int i = 0; i < 50; ++i) {
        const auto record = read_trace(path);
        ASSERT_TRUE(record);
        for (std::size_t at = 0; at < record->events.size(); ++at) {
            const auto& entry = record->events[at].entry;
            ASSERT_EQ(entry.value, record->events.front().entry.value + at) << "one after the other";
            ASSERT_EQ(entry.cycles, entry.value) << "and whole";
            ASSERT_EQ(entry.port, static_cast<std::uint16_t>(entry.value));
        }
    }
    stop = true;
}

TEST_F(TraceFileTest, IsRemovedByItsOwner) {
    {
        const auto file = make();
        ASSERT_TRUE(file);
        EXPECT_TRUE(std::filesystem::exists(path));
    }
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(TraceFileTest, IsThereAfterItsOwnerWasKilled) {
    const auto child = fork();
    if (child == 0) {
        const auto file = make();
        Trace(&file->ring()).record(TraceEvent::received, 0, 9);
        std::raise(SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    const auto record = read_trace(path);
    ASSERT_TRUE(record) << record.error().what;
    EXPECT_EQ(record->pid, child);
    ASSERT_EQ(record->events.size(), 1u);
    EXPECT_EQ(record->events[0].entry.value, 9u);

    {
        const auto next = make();
        ASSERT_TRUE(next);
        const auto kept = read_trace(place.path() / "trace.0.old");
        ASSERT_TRUE(kept) << "the next one keeps it";
        EXPECT_EQ(kept->pid, child);
        EXPECT_THAT(trace_files(place.path(), false), testing::ElementsAre(path));
        EXPECT_THAT(trace_files(place.path(), true), testing::ElementsAre(place.path() / "trace.0.old"));
    }
    EXPECT_TRUE(std::filesystem::exists(place.path() / "trace.0.old"));
}

TEST_F(TraceFileTest, FilesAreThoseOfShardsInTheirOrder) {
    const auto tenth = make(10), second = make(2);
    ASSERT_TRUE(tenth && second);
    for (const auto* name : {"trace.", "trace.x", "trace.1x", "trace.1.oldest", "verbline.lock"})
        std::ofstream(place.path() / name) << "";
    EXPECT_THAT(trace_files(place.path(), false),
                testing::ElementsAre(place.path() / "trace.2", place.path() / "trace.10"));
    EXPECT_TRUE(trace_files(place.path(), true).empty());
    EXPECT_TRUE(trace_files(place.path() / "none", false).empty());
}

TEST_F(TraceFileTest, OtherFilesAreRefused) {
    EXPECT_EQ(read_trace(path).error().code, ENOENT);
    std::ofstream(path) << "short";
    EXPECT_EQ(read_trace(path).error().what, path.string() + " is no trace of this version");
    std::filesystem::remove(path);
    std::ofstream(path) << std::string(2 << 20, 'x');
    EXPECT_EQ(read_trace(path).error().code, EINVAL);
}

TEST_F(TraceFileTest, ADirectoryThatIsNotThereIsAnError) {
    const auto file = TraceFile::create(place.path() / "none", {}, cycles_per_second);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().what,
              (place.path() / "none/trace.0").string() + ": cannot be made: No such file or directory");
}

}  // namespace
}  // namespace verbline::pmd
