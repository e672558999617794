// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/doctor/root_directory.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pmd/base/directory.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::doctor {
namespace {

bool is_plain_word(const std::string& name) {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:@+-";
    return !name.starts_with('-') && name.find_first_not_of(letters) == std::string::npos;
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks(" \t\r\n\0", 5);
    const auto begin = text.find_first_not_of(blanks);
    if (begin == text.npos) return {};
    return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

}  // namespace

std::optional<std::int64_t> parse_number(std::string_view text) {
    const int base = text.starts_with("0x") ? 16 : 10;
    if (base == 16) text.remove_prefix(2);
    std::int64_t value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::filesystem::path RootDirectory::below(std::string_view path) const {
    path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
    return root_ / path;
}

bool RootDirectory::exists(std::string_view path) const {
    std::error_code problem;
    return std::filesystem::exists(below(path), problem);
}

std::optional<std::string> RootDirectory::beginning(std::string_view path) const {
    auto content = read_some(path);
    if (content && content->size() > max_file) content->resize(max_file);
    return content;
}

std::optional<std::string> RootDirectory::bytes(std::string_view path) const {
    auto content = read_some(path);
    if (content && content->size() > max_file) return std::nullopt;
    return content;
}

std::optional<std::string> RootDirectory::read_some(std::string_view path) const {
    // Without blocking, since a recorded tree may have a FIFO at any name.
    const FileDescriptor file(open(below(path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat status{};
    if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    std::string content(max_file + 1, '\0');  // sizes that stat(2) gives for sysfs are not those of the contents
    std::size_t length = 0;
    while (length < content.size()) {
        const auto n = read(file.get(), content.data() + length, content.size() - length);
        if (n < 0) return std::nullopt;
        if (n == 0) break;
        length += static_cast<std::size_t>(n);
    }
    content.resize(length);
    return content;
}

std::optional<std::string> RootDirectory::text(std::string_view path) const {
    const auto content = bytes(path);
    if (!content) return std::nullopt;
    const auto inner = trimmed(*content);
    if (inner.empty()) return std::nullopt;
    return std::string(inner);
}

std::optional<std::int64_t> RootDirectory::number(std::string_view path) const {
    const auto content = text(path);
    return content ? parse_number(*content) : std::nullopt;
}

std::optional<bool> RootDirectory::flag(std::string_view path) const {
    const auto content = text(path);
    if (content == "1" || content == "Y") return true;
    if (content == "0" || content == "N") return false;
    return std::nullopt;
}

std::optional<std::string> RootDirectory::link_name(std::string_view path) const {
    std::error_code problem;
    const auto target = std::filesystem::read_symlink(below(path), problem);
    if (problem || target.filename().empty()) return std::nullopt;
    return target.filename().string();
}

std::vector<std::string> RootDirectory::entries(std::string_view path) const {
    std::vector<std::string> names;
    for_each_entry(below(path), [&](const std::string& name) {
        if (names.size() < max_entries && is_plain_word(name)) names.push_back(name);
    });
    std::ranges::sort(names);
    return names;
}

}  // namespace verbline::doctor
