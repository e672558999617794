// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/namespace/counter_files.h"

#include <array>
#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

#include "pmd/base/file_descriptor.h"

namespace verbline::verbs {

/// In place: a reader gets all digits of one value or of the other, since both fit into one write.
bool CounterFiles::write_file(const char* group, const std::string& name, std::uint64_t value) const {
    const FileDescriptor out(open((directory_ / group / name).c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
    std::array<char, 24> text{};
    const int size = std::snprintf(text.data(), text.size(), "%llu\n", static_cast<unsigned long long>(value));
    return out && ::write(out.get(), text.data(), static_cast<std::size_t>(size)) == size;
}

void CounterFiles::write(const Counters& counters, const Counters& hw_counters, std::size_t most) {
    const auto count = counters.size() + hw_counters.size();
    written_.resize(count);
    std::size_t files = 0;
    for (std::size_t looked = 0; looked < count && files < most; ++looked) {
        const auto at = next_;
        next_ = (next_ + 1) % count;
        const bool hw = at >= counters.size();
        const auto& [name, value] = hw ? hw_counters[at - counters.size()] : counters[at];
        if (written_[at] == value) continue;
        ++files;
        if (write_file(hw ? "hw_counters" : "counters", name, value)) written_[at] = value;
    }
}

}  // namespace verbline::verbs
