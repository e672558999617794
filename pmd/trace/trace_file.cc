// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/trace/trace_file.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <type_traits>

#include <fcntl.h>
#include <rte_cycles.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "pmd/base/clock.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::pmd {

namespace {

constexpr std::uint64_t magic = 0x3145'4341'5254'4c56;  // "VLTRACE1" on a little-endian machine
constexpr std::string_view prefix = "trace.", suffix = ".old";
constexpr std::size_t name_size = 16;

}  // namespace

struct TraceFileLayout {
    /// One moment by both clocks.
    struct Anchor {
        std::uint64_t cycles = 0;
        Time utc = 0;

        static Anchor now() { return {.cycles = rte_rdtsc(), .utc = utc_now()}; }
    };

    std::uint64_t magic = 0;
    std::uint64_t cycles_per_second = 0;
    std::array<Anchor, 2> anchors;  // one is valid while the other is written
    std::uint32_t anchor = 0;
    std::int32_t pid = 0;
    std::uint32_t shard = 0, lcore = 0;
    std::array<std::array<char, name_size>, TraceOwner::most_named> ports{};
    TraceRing ring;  // its events are the last
};
static_assert(std::is_trivially_copyable_v<TraceFileLayout>);

namespace {

constexpr std::size_t layout_head = sizeof(TraceFileLayout) - TraceRing::capacity * sizeof(TraceEntry);

std::unexpected<Error> failed(const std::filesystem::path& file, std::string_view what) {
    return failure(errno, fmt::format("{}: {}: {}", file.string(), what, std::strerror(errno)));
}

std::filesystem::path path_of(const std::filesystem::path& directory, unsigned shard) {
    return directory / fmt::format("{}{}", prefix, shard);
}

void describe(TraceFileLayout& layout, const TraceOwner& owner, std::uint64_t cycles_per_second) {
    layout.cycles_per_second = cycles_per_second;
    layout.anchors[0] = TraceFileLayout::Anchor::now();
    layout.pid = getpid();
    layout.shard = owner.shard;
    layout.lcore = owner.lcore;
    for (std::size_t i = 0; i < std::min(owner.ports.size(), layout.ports.size()); ++i)
        owner.ports[i].copy(layout.ports[i].data(), name_size - 1);
    layout.magic = magic;
}

/// Reads exactly so much of a file.
bool read_at(int file, std::span<std::byte> into, std::size_t offset) {
    while (!into.empty()) {
        const auto n = pread(file, into.data(), into.size(), static_cast<off_t>(offset));
        if (n <= 0) return false;
        into = into.subspan(static_cast<std::size_t>(n));
        offset += static_cast<std::size_t>(n);
    }
    return true;
}

/// The shard of a file's name, if it is one of ours.
std::optional<unsigned> shard_of(std::string_view name, bool old) {
    if (!name.starts_with(prefix) || name.ends_with(suffix) != old) return std::nullopt;
    name.remove_prefix(prefix.size());
    if (old) name.remove_suffix(suffix.size());
    unsigned shard = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), shard);
    if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
    return shard;
}

class Clock {
public:
    explicit Clock(const TraceFileLayout& layout)
        : anchor_(layout.anchors[layout.anchor % layout.anchors.size()]),
          rate_(std::max<std::uint64_t>(layout.cycles_per_second, 1)) {}

    Time utc(std::uint64_t cycles) const {
        return cycles < anchor_.cycles ? anchor_.utc - span(anchor_.cycles - cycles)
                                       : anchor_.utc + span(cycles - anchor_.cycles);
    }

private:
    Time span(std::uint64_t cycles) const {
        return static_cast<Time>(cycles / rate_ * second + cycles % rate_ * second / rate_);
    }

    TraceFileLayout::Anchor anchor_;
    std::uint64_t rate_;
};

}  // namespace

void TraceFile::Unmap::operator()(TraceFileLayout* at) const noexcept {
    munmap(at, sizeof *at);
}

Result<TraceFile> TraceFile::create(const std::filesystem::path& directory, const TraceOwner& owner,
                                    std::uint64_t cycles_per_second) {
    const auto path = path_of(directory, owner.shard);
    std::error_code none;
    std::filesystem::rename(path, std::filesystem::path(path) += suffix, none);
    const FileDescriptor file(
        open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!file) return failed(path, "cannot be made");
    // Its pages are taken now: on a full file system a store would end the process.
    if ((errno = posix_fallocate(file.get(), 0, sizeof(TraceFileLayout))) != 0) {
        auto error = failed(path, "has no room for a trace of a megabyte");
        unlink(path.c_str());
        return error;
    }
    void* const at =
        mmap(nullptr, sizeof(TraceFileLayout), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file.get(), 0);
    if (at == MAP_FAILED) return failed(path, "cannot be mapped");
    TraceFile made(path, new (at) TraceFileLayout);
    describe(*made.at_, owner, cycles_per_second);
    return made;
}

TraceFile::~TraceFile() {
    if (at_ != nullptr) unlink(path_.c_str());
}

TraceRing& TraceFile::ring() const {
    return at_->ring;
}

void TraceFile::note_time() noexcept {
    const auto next = at_->anchor ^ 1U;
    at_->anchors[next] = TraceFileLayout::Anchor::now();
    std::atomic_ref(at_->anchor).store(next, std::memory_order_release);
}

std::string TraceRecord::port_name(std::uint16_t port) const {
    if (port == Trace::no_port) return "";
    return port < owner.ports.size() && !owner.ports[port].empty() ? owner.ports[port] : std::to_string(port);
}

Result<TraceRecord> read_trace(const std::filesystem::path& path) {
    const FileDescriptor file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file) return failed(path, "cannot be opened");
    // The events that were there before and were not replaced by newer ones meanwhile.
    const auto before = std::make_unique<TraceFileLayout>(), after = std::make_unique<TraceFileLayout>();
    const auto bytes = [](TraceFileLayout& layout) { return std::as_writable_bytes(std::span(&layout, 1)); };
    if (!read_at(file.get(), bytes(*before).first(layout_head), 0) ||
        !read_at(file.get(), bytes(*before).subspan(layout_head), layout_head) ||
        !read_at(file.get(), bytes(*after).first(layout_head), 0) || before->magic != magic)
        return failure(EINVAL, path.string() + " is no trace of this version");

    TraceRecord record{.pid = before->pid,
                       .owner = {.shard = before->shard, .lcore = before->lcore, .ports = {}},
                       .recorded = before->ring.recorded(),
                       .events = {}};
    for (const auto& name : before->ports)
        record.owner.ports.emplace_back(name.data(), strnlen(name.data(), name_size));
    while (!record.owner.ports.empty() && record.owner.ports.back().empty()) record.owner.ports.pop_back();
    const Clock clock(*after);
    // The oldest is left out as well: the writer may be about to replace it.
    const auto last = after->ring.recorded();
    for (auto n = last < TraceRing::capacity ? 0 : last - TraceRing::capacity + 1; n < record.recorded; ++n)
        record.events.push_back({.utc = clock.utc(before->ring[n].cycles), .entry = before->ring[n]});
    return record;
}

std::vector<std::filesystem::path> trace_files(const std::filesystem::path& directory, bool old) {
    std::vector<unsigned> shards;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
         entry.increment(error)) {
        if (const auto shard = shard_of(entry->path().filename().string(), old)) shards.push_back(*shard);
    }
    std::ranges::sort(shards);
    std::vector<std::filesystem::path> files;
    for (const auto shard : shards) {
        files.push_back(path_of(directory, shard));
        if (old) files.back() += suffix;
    }
    return files;
}

}  // namespace verbline::pmd
