// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/memory/key_table.h"

#include <string>
#include <thread>
#include <utility>

namespace verbline::memory {
namespace {

constexpr std::size_t initial_room = 8;

Result<Grant> grant_of(const RegionAttributes& region) {
    const auto base = reinterpret_cast<std::uint64_t>(region.base);
    const auto iova = has(region.rights, Access::zero_based) ? 0 : region.iova;
    if ((region.rights & ~known_flags) != Access::none)
        return failure(EOPNOTSUPP, "the access flags of a memory region include unsupported ones");
    if ((region.rights & (Access::remote_write | Access::remote_atomic)) != Access::none &&
        !has(region.rights, Access::local_write))
        return failure(EINVAL,
                       "a memory region that peers may write must be locally writable: add IBV_ACCESS_LOCAL_WRITE");
    if (base + region.length < base || iova + region.length < iova)
        return failure(EINVAL, "a memory region runs beyond the end of the address space");
    if (region.pd == any_pd) return failure(EINVAL, "a memory region must belong to a protection domain");
    return Grant{{}, region.rights | usable | by_local_key, region.pd, any_qpn, base, iova, region.length};
}

constexpr KeyKind kind_of(WindowType type) {
    switch (type) {
        case WindowType::type1: return KeyKind::window_type1;
        case WindowType::type2a: return KeyKind::window_type2a;
        case WindowType::type2b: break;
    }
    return KeyKind::window_type2b;
}

bool is_window(const KeyEntry& entry) {
    return entry.kind() != KeyKind::region && entry.kind() != KeyKind::none;
}
bool is_type2(const KeyEntry& entry) {
    return entry.kind() == KeyKind::window_type2a || entry.kind() == KeyKind::window_type2b;
}
bool same_index(wire::RKey a, wire::RKey b) {
    return static_cast<std::uint32_t>(a) >> 8 == static_cast<std::uint32_t>(b) >> 8;
}

/// Under the window's lock: it grants `grant` of `region` from now on, or nothing if that is null. The region it had is
/// let go last, for it may go away then.
void rebind(KeyEntry& window, const Grant& grant, KeyEntry* region) noexcept {
    window.write(grant);
    auto* const before = window.region.load(std::memory_order_relaxed);
    window.region.store(region, std::memory_order_relaxed);
    if (before != nullptr) before->release();
}
void unbind(KeyEntry& window, Grant grant) noexcept {
    grant.rights = Access::none;
    rebind(window, grant, nullptr);
}

/// Unbinds a window if `condition` holds of it and its grant. A poll core may be changing it, which takes it some ten
/// stores; the owner waits for that, while poll cores never wait for the owner.
template <class Condition>
void unbind_if(KeyEntry& window, Condition condition) {
    for (;; std::this_thread::yield()) {
        const auto seen = window.look();
        if (!seen.whole) continue;
        if (!condition(window, seen.grant)) return;
        if (!window.lock(seen)) continue;
        unbind(window, seen.grant);
        return window.unlock();
    }
}

/// What a window grants once `binding` is executed.
Grant grant_of(const KeyEntry& window, const Binding& binding, const KeyEntry* region) {
    if (region == nullptr) return {.key = binding.new_key, .pd = window.owner()};
    return {.key = binding.new_key,
            .rights = (binding.rights & remote_rights) | usable,
            .pd = window.kind() == KeyKind::window_type2a ? any_pd : window.owner(),
            .qpn = is_type2(window) ? binding.qpn : any_qpn,
            .base = region->look().grant.at(binding.address),
            .iova = has(binding.rights, Access::zero_based) ? 0 : binding.address,
            .length = binding.length};
}

std::unexpected<Error> no_such_key() {
    return failure(EINVAL, "there is no memory region or window of that key");
}

}  // namespace

KeyTable::KeyTable(KeySource source) : source_(std::move(source)) {
    slots_.store(new KeySlots(initial_room));  // last: if another member's allocation threw, it would leak
}

KeyTable::~KeyTable() {
    const std::unique_ptr<KeySlots> slots(slots_.load());
    slots->each([&](KeyEntry& entry) {
        if (&entry != &tombstone_) delete &entry;
    });
}

Result<wire::RKey> KeyTable::unused_key() {
    if (size_ == max_keys) return failure(ENOMEM, std::to_string(size_) + " memory keys are in use: deregister some");
    for (unsigned attempt = 0; attempt < 64; ++attempt) {  // the worst of 64 misses in a row: 2^-128
        const auto random = source_();
        if (!random) return std::unexpected(random.error());
        if (const wire::RKey key{*random}; *random >> 8 != 0 && find(key) == nullptr) return key;
    }
    return failure(EIO, "the random generator for memory keys repeats itself");
}

Result<wire::RKey> KeyTable::add(KeyKind kind, PdId owner, Grant grant) {
    const auto key = unused_key();
    if (!key) return key;
    grant.key = *key;
    auto entry = std::make_unique<KeyEntry>(kind, owner, grant);
    if (slots_.load(std::memory_order_relaxed)->full()) grow();
    windows_ += is_window(*entry);
    slots_.load(std::memory_order_relaxed)->insert(*entry.release());
    ++size_;
    return key;
}

void KeyTable::grow() {
    const auto* const old = slots_.load(std::memory_order_relaxed);
    auto slots = std::make_unique<KeySlots>(size_ + 1);
    old->each([&](KeyEntry& entry) {
        if (&entry != &tombstone_) slots->insert(entry);
    });
    slots_.store(slots.release(), std::memory_order_release);
    retire(nullptr, old);
}

void KeyTable::retire(const KeyEntry* entry, const KeySlots* slots) {
    retired_.push_back(
        {++retirements_, std::unique_ptr<const KeyEntry>(entry), std::unique_ptr<const KeySlots>(slots)});
}

void KeyTable::reclaim(std::uint64_t retired) {
    while (!retired_.empty() && retired_.front().number <= retired) retired_.pop_front();
}

Result<wire::RKey> KeyTable::add_region(const RegionAttributes& attributes) {
    const auto grant = grant_of(attributes);
    if (!grant) return std::unexpected(grant.error());
    return add(KeyKind::region, attributes.pd, *grant);
}

Result<void> KeyTable::change_region(wire::RKey key, const RegionAttributes& attributes) {
    auto* const region = find(key);
    if (region == nullptr || region->kind() != KeyKind::region) return no_such_key();
    auto grant = grant_of(attributes);
    if (!grant) return std::unexpected(grant.error());
    grant->key = region->look().grant.key;
    auto successor = std::make_unique<KeyEntry>(KeyKind::region, attributes.pd, *grant);
    if (!region->kill()) return failure(EBUSY, "windows are bound to the memory region: invalidate them first");
    slots_.load(std::memory_order_relaxed)->replace(*region, *successor.release());
    retire(region, nullptr);
    return {};
}

Result<wire::RKey> KeyTable::add_window(PdId pd, WindowType type) {
    if (pd == any_pd) return failure(EINVAL, "a memory window must belong to a protection domain");
    return add(kind_of(type), pd, {.pd = pd});
}

Result<void> KeyTable::remove(wire::RKey key) {
    auto* const entry = find(key);
    if (entry == nullptr) return no_such_key();
    // Killed, so that a concurrent bind that has found the region already fails.
    if (!entry->kill()) return failure(EBUSY, "windows are bound to the memory region: invalidate them first");
    slots_.load(std::memory_order_relaxed)->replace(*entry, tombstone_);
    if (is_window(*entry)) {
        unbind_if(*entry, [](const KeyEntry&, const Grant&) { return true; });
        --windows_;
    }
    --size_;
    retire(entry, nullptr);
    return {};
}

Result<void> KeyTable::revoke(wire::RKey key) {
    for (;; std::this_thread::yield()) {  // until no poll core has bound another window meanwhile
        auto removed = remove(key);
        if (removed || removed.error().code != EBUSY) return removed;
        const auto bound_to_it = [region = find(key)](const KeyEntry& window, const Grant&) {
            return window.region.load(std::memory_order_relaxed) == region;
        };
        slots_.load(std::memory_order_relaxed)->each([&](KeyEntry& entry) {
            if (is_window(entry)) unbind_if(entry, bound_to_it);
        });
    }
}

void KeyTable::unbind_all(wire::Qpn qpn) {
    if (windows_ == 0) return;
    const auto bound_to_it = [qpn](const KeyEntry&, const Grant& grant) {
        return has(grant.rights, usable) && grant.qpn == qpn;
    };
    slots_.load(std::memory_order_relaxed)->each([&](KeyEntry& entry) {
        if (is_type2(entry)) unbind_if(entry, bound_to_it);
    });
}

std::expected<KeyEntry*, Fault> KeyTable::hold_region(const KeyEntry& window, const Binding& binding) const noexcept {
    auto* const region = find(binding.region);
    if (region == nullptr || region->kind() != KeyKind::region || !region->hold())
        return std::unexpected(Fault::unknown_key);
    const auto refuse = [&](Fault why) {
        region->release();
        return std::unexpected(why);
    };
    const auto grant = region->look().grant;
    if (grant.key != binding.region) return refuse(Fault::unknown_key);
    if (grant.pd != window.owner()) return refuse(Fault::wrong_pd);
    const bool writes = (binding.rights & (Access::remote_write | Access::remote_atomic)) != Access::none;
    if (!has(grant.rights, writes ? Access::mw_bind | Access::local_write : Access::mw_bind))
        return refuse(Fault::no_right);
    if (!grant.contains(binding.address, binding.length)) return refuse(Fault::out_of_range);
    return region;
}

std::expected<wire::RKey, Fault> KeyTable::bind(wire::RKey key, const Binding& binding) noexcept {
    auto* const window = find(key);
    if (window == nullptr || !same_index(key, binding.new_key)) return std::unexpected(Fault::unknown_key);
    if (!is_window(*window)) return std::unexpected(Fault::not_a_window);
    if (window->owner() != binding.pd) return std::unexpected(Fault::wrong_pd);
    const auto seen = window->look();
    if (is_type2(*window)) {
        // Only an invalidate unbinds: o10-37.2.30 and o10-37.2.40.
        if (has(seen.grant.rights, usable)) return std::unexpected(Fault::still_bound);
        if (binding.length == 0) return std::unexpected(Fault::out_of_range);
    } else {
        if (has(binding.rights, Access::zero_based)) return std::unexpected(Fault::no_right);  // o10-36.2.2
        // A rebind under the same key could be observed as unbound in between.
        if (seen.grant.key == binding.new_key) return std::unexpected(Fault::still_bound);
    }
    const auto region = binding.length == 0 ? std::expected<KeyEntry*, Fault>(nullptr) : hold_region(*window, binding);
    if (!region) return std::unexpected(region.error());

    const bool locked = window->lock(seen), removed = window->killed();
    if (locked && !removed) rebind(*window, grant_of(*window, binding, *region), *region);
    if (locked) window->unlock();
    if (locked && !removed) return binding.new_key;
    if (*region != nullptr) (*region)->release();
    return std::unexpected(removed ? Fault::unknown_key : Fault::still_bound);
}

std::expected<void, Fault> KeyTable::invalidate(wire::RKey key, PdId pd, wire::Qpn qpn) noexcept {
    auto* const window = find(key);
    if (window == nullptr) return std::unexpected(Fault::unknown_key);
    const auto seen = window->look();
    if (seen.grant.key != key) return std::unexpected(Fault::unknown_key);
    if (!is_type2(*window)) return std::unexpected(Fault::not_a_window);
    if (!has(seen.grant.rights, usable)) return std::unexpected(Fault::not_bound);
    if (seen.grant.pd != pd && seen.grant.pd != any_pd) return std::unexpected(Fault::wrong_pd);
    if (seen.grant.qpn != qpn) return std::unexpected(Fault::wrong_qp);
    if (!window->lock(seen)) return std::unexpected(Fault::not_bound);  // another poll core is changing it
    unbind(*window, seen.grant);
    window->unlock();
    return {};
}

}  // namespace verbline::memory
