// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A trace ring in a file. It is removed when its owner ends as it should, and left behind by a fault; the next owner
/// keeps that one under another name.
///
///     DIRECTORY/trace.0        shard 0: of the process that runs, or of one that was killed
///     DIRECTORY/trace.0.old    of the one before, if it was killed
///
/// The directory should lie in memory, as /run does; the file has a megabyte.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "pmd/base/error.h"
#include "pmd/base/time.h"
#include "pmd/trace/trace_ring.h"

namespace verbline::pmd {

/// Whose ring it is.
struct TraceOwner {
    unsigned shard = 0;
    unsigned lcore = 0;
    std::vector<std::string> ports;  ///< their names, by number; the first `most_named` are kept, of 15 characters each

    static constexpr std::size_t most_named = 256;
};

/// The file's content; of one process, so that it has no byte order of its own.
struct TraceFileLayout;

class TraceFile {
public:
    /// Makes the file of a shard, for its owner's user alone. `cycles_per_second`: of the time stamp counter
    /// (rte_get_tsc_hz). The error names the file.
    static Result<TraceFile> create(const std::filesystem::path& directory, const TraceOwner& owner,
                                    std::uint64_t cycles_per_second);
    TraceFile(TraceFile&&) noexcept = default;
    TraceFile& operator=(TraceFile&&) = delete;
    /// Removes the file. No thread may record any more.
    ~TraceFile();

    TraceRing& ring() const;
    /// Notes the time of day: the time stamp counter's rate is known to some parts in a million only. Call now and
    /// then, on any one thread.
    void note_time() noexcept;

private:
    struct Unmap {
        void operator()(TraceFileLayout* at) const noexcept;
    };
    TraceFile(std::filesystem::path path, TraceFileLayout* at) : path_(std::move(path)), at_(at) {}

    std::filesystem::path path_;
    std::unique_ptr<TraceFileLayout, Unmap> at_;
};

/// What a file tells.
struct TraceRecord {
    struct Event {
        Time utc = 0;  ///< nanoseconds since 1970
        TraceEntry entry;
    };

    pid_t pid = 0;
    TraceOwner owner;
    std::uint64_t recorded = 0;  ///< events so far, of which the last are in `events`
    std::vector<Event> events;   ///< in the order in which they happened

    /// The name of a port; its number if it has none; empty for none.
    std::string port_name(std::uint16_t port) const;
};

/// Reads a file, which may be written meanwhile: events that are overwritten during the read are left out. EINVAL: it
/// is no trace, or one of another version.
Result<TraceRecord> read_trace(const std::filesystem::path& file);

/// The files of a directory: by shard, without those named `old`, or these alone.
std::vector<std::filesystem::path> trace_files(const std::filesystem::path& directory, bool old);

}  // namespace verbline::pmd
