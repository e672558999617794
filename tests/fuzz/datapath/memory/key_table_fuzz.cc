// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// Registrations, windows, binds, invalidates and accesses as the bytes say. No access that is granted leaves the one
/// piece of memory that was ever registered, and an invalidated key stays so.

#include <array>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "datapath/memory/key_table.h"

namespace verbline::memory {
namespace {

void expect(bool promise) {
    if (!promise) std::abort();
}

class Input {
public:
    Input(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
    bool empty() const { return left_ == 0; }
    std::uint8_t byte() { return left_ == 0 ? std::uint8_t{0} : (--left_, *data_++); }
    /// Small, huge, or near either end: where sums wrap.
    std::uint64_t number() {
        const auto kind = byte();
        const std::uint64_t value = byte();
        return kind < 160 ? value : kind < 200 ? ~value : kind < 230 ? value << 56 : (value << 8 | byte()) << 16;
    }

private:
    const std::uint8_t* data_;
    std::size_t left_;
};

class Session {
public:
    void step(Input& input) {
        switch (input.byte() % 8) {
            case 0: return add(table_.add_region(attributes(input)));
            case 1: return add(table_.add_window(pd(input), static_cast<WindowType>(input.byte() % 3)));
            case 2: return static_cast<void>(table_.change_region(key(input), attributes(input)));
            case 3: return static_cast<void>(table_.remove(key(input)));
            case 4: return bind(input);
            case 5: return invalidate(input);
            case 6: return input.byte() % 2 == 0 ? table_.unbind_all(qpn(input)) : table_.reclaim(table_.retired());
            default: return access(input);
        }
    }

private:
    static PdId pd(Input& input) { return PdId{input.byte() % 2u}; }
    static wire::Qpn qpn(Input& input) { return wire::Qpn{input.byte() % 2u}; }
    static Access rights(Input& input) {
        const std::uint32_t low = input.byte();
        return Access{low | (input.byte() % 4u) << 8};
    }
    wire::RKey key(Input& input) {
        const auto which = input.byte(), flip = input.byte();
        if (keys_.empty()) return wire::RKey{which};
        const auto known = static_cast<std::uint32_t>(keys_[which % keys_.size()]);
        return wire::RKey{flip < 224 ? known : known ^ 1u << flip % 32};
    }
    RegionAttributes attributes(Input& input) {
        const std::uint64_t from = input.byte(), size = input.byte() % (memory_.size() - from + 1);
        return {pd(input), memory_.data() + from, size, input.number(), rights(input)};
    }
    void add(const Result<wire::RKey>& key) {
        if (key) keys_.push_back(*key);
    }
    void bind(Input& input) {
        const auto window = key(input);
        const Binding binding{input.byte() < 240 ? next_key(window) : key(input),
                              key(input),
                              input.number(),
                              input.number(),
                              rights(input),
                              pd(input),
                              qpn(input)};
        const auto bound = table_.bind(window, binding);
        if (!bound) return;
        expect(*bound == binding.new_key);
        keys_.push_back(*bound);
        const auto writes = table_.resolve(*bound, binding.pd, binding.qpn, binding.address, 0, Access::remote_write);
        expect(!writes || has(binding.rights, Access::remote_write));
    }
    void invalidate(Input& input) {
        const auto shown = key(input);
        const auto of = pd(input);
        const auto by = qpn(input);
        if (table_.invalidate(shown, of, by))
            expect(table_.resolve(shown, of, by, 0, 0, Access::remote_read) == std::unexpected(Fault::not_bound));
    }
    void access(Input& input) {
        const auto shown = key(input);
        const auto size = input.number();
        const auto found = table_.resolve(shown, pd(input), qpn(input), input.number(), size, rights(input));
        if (!found) return;
        expect(*found >= memory_.data() && *found <= memory_.data() + memory_.size());
        expect(size <= static_cast<std::size_t>(memory_.data() + memory_.size() - *found));
    }

    std::uint32_t drawn_ = 0;
    KeyTable table_{[this]() -> Result<std::uint32_t> { return drawn_ += 0x9e37'79b9; }};
    std::array<std::byte, 256> memory_{};
    std::vector<wire::RKey> keys_;
};

}  // namespace
}  // namespace verbline::memory

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    verbline::memory::Input input(data, size);
    verbline::memory::Session session;
    while (!input.empty()) session.step(input);
    return 0;
}
