// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/held.hpp>
#include <tessera/job/job.hpp>
#include <tessera/job/tile.hpp>
#include <tessera/partition/plan.hpp>
#include <tessera/version.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>

namespace TESSERA_NAMESPACE {

/// Copies between the host and the devices of this rank, since the construction of the array.
struct ArrayTraffic {
  std::int64_t uploads = 0;  ///< copies of whole tiles, or of their parts
  std::int64_t uploaded_bytes = 0;
  std::int64_t downloads = 0;
  std::int64_t downloaded_bytes = 0;
};

/// The part of an `Array` that does not depend on the type of its elements.
class TESSERA_EXPORT ArrayBase {
 public:
  ArrayBase(ArrayBase&& other) noexcept;
  ArrayBase& operator=(ArrayBase&& other) noexcept;

  /// The plan of the current distribution of the units.
  [[nodiscard]] const Plan& plan() const;
  /// The number of changes so far: each pass that wrote the array counts, and each call of
  /// `Array::overwrite`. The same on every rank. It decreases after an `Error(rolled_back)`.
  [[nodiscard]] std::int64_t version() const;
  /// The version that the host has: `version()`, unless passes on devices have changed the array since.
  [[nodiscard]] std::int64_t host_version() const;
  [[nodiscard]] ArrayTraffic traffic() const;

  /// *Collective.* Distributes the units by `plan`, which must be of the same units. Copies the array to the
  /// hosts first. Throws like `Job::download` and `Job::move`.
  void move_to(const Plan& plan);

 protected:
  ArrayBase(Job& job, const Plan& plan, std::int64_t width, std::size_t element_bytes);
  ~ArrayBase();
  [[nodiscard]] std::span<std::byte> host_bytes() const;
  [[nodiscard]] std::span<std::byte> overwritten_bytes();

  friend class Job;
  /// Throws `Error(usage)` for an array that was moved from.
  [[nodiscard]] detail::ArrayState& state() const { return *state_; }

 private:
  detail::Held<std::unique_ptr<detail::ArrayState>, "Array"> state_;
};

namespace detail {

enum class ArrayUse {
  read,    ///< reads the last version
  write,   ///< writes the next version, from scratch
  modify,  ///< writes the next version, which begins as the last one
};

/// The use of an array in a pass.
struct ArrayAccess {
  ArrayState* array = nullptr;
  ArrayUse use = ArrayUse::read;
};

/// The elements of the units of `tile`, on its device: from the device's copy of the whole tile, or of its
/// current part. `units_on_host`, for a host function: from the copy of the device `HostTile::device`, or
/// else of the host. Null if there are no units.
[[nodiscard]] TESSERA_EXPORT std::span<std::byte> units_on_device(const ArrayAccess& access,
                                                                  const Tile& tile);
[[nodiscard]] TESSERA_EXPORT std::span<std::byte> units_on_host(const ArrayAccess& access,
                                                                const HostTile& tile);

template <class T>
struct TypedAccess : ArrayAccess {
  [[nodiscard]] std::span<T> on_device(const Tile& tile) const { return typed(units_on_device(*this, tile)); }
  [[nodiscard]] std::span<T> on_host(const HostTile& tile) const { return typed(units_on_host(*this, tile)); }

 private:
  [[nodiscard]] static std::span<T> typed(std::span<std::byte> bytes) {
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

}  // namespace detail

/// An array over the units of a plan, for repeated passes: the host has the elements of this rank's units;
/// each device has the elements of its tile, and keeps them from pass to pass.
///
///     tessera::Array<double> matrix(job, plan, columns);    // units are rows
///     tessera::Array<double> state(job, plan);
///     load(matrix.overwrite());                             // this rank's rows
///     for (int step = 0; step < 200; ++step)
///       job.update(tessera::arrays(matrix.read(), state.modify()), on_device, on_host);
///     job.download(state);
///     save(state.host());
///
/// `matrix` is copied to the devices once; `state` is not copied until the download, since new arrays are
/// zeros.
///
/// A pass that writes or modifies an array makes a new version of it, valid once the pass has its verdict; a
/// pass that fails leaves the last version unchanged. A device therefore has two copies of an array that
/// passes change; the host has two copies while a version is copied to it, and after a fallback. Devices
/// copy through pinned memory, on up to eight threads each.
///
/// Arrays stay on the devices as long as they fit the memory budgets (`JobOptions::memory_fraction`). A pass
/// that needs more room evicts arrays that it does not use, least recently used first; versions that only
/// devices have are copied to the hosts. A pass whose own arrays exceed the budget of a device *streams*
/// them, on all devices: each tile comes in parts, which are copied to the device, computed and copied back,
/// `JobOptions::parts_in_flight` of them at a time (`Tile`); all versions are then on the hosts. A block must
/// fit, or the pass falls back.
///
/// If a device fails, the versions that only devices have are copied to the hosts before the job falls back,
/// or goes on without the device (`OnDeviceFailure`), and the pass is computed again from there. If they
/// cannot be copied, all arrays of the job return to the versions of the hosts, on every rank, and every rank
/// throws `Error(rolled_back)`: resume from `version()`. Download arrays that belong together in one call of
/// `Job::download`, often enough that repeating the passes since then is affordable.
///
/// `T` is trivially copyable, aligned to 16 bytes or less. Not thread-safe. Every rank makes and destroys the
/// arrays of a job in the same order, and between the same passes. The job, possibly moved, must outlive its
/// arrays. Move-only.
template <class T>
class Array : public ArrayBase {
  static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>, "devices copy byte by byte");
  static_assert(alignof(T) <= alignof(std::max_align_t));

 public:
  /// `width` elements for each unit of `plan`, consecutive, all zero bytes. Throws `Error(usage)` if the plan
  /// has another number of ranks, or the width is below 1.
  Array(Job& job, const Plan& plan, std::int64_t width = 1) : ArrayBase(job, plan, width, sizeof(T)) {}

  /// This rank's elements, of the version `host_version()`. Valid until the next call that changes the array.
  [[nodiscard]] std::span<const T> host() const {
    const auto bytes = host_bytes();
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  /// Writable elements of the next version: every rank makes this call, and writes before the next
  /// pass. Elements that are not written keep their values in `host()`; versions that only devices have are
  /// dropped. Throws `Error(usage)` in a function of a pass.
  [[nodiscard]] std::span<T> overwrite() {
    const auto bytes = overwritten_bytes();
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

  /// How a pass uses the array; with both `read` and `write` in one pass, `read` has the last version and
  /// `write` the next.
  [[nodiscard]] detail::TypedAccess<const T> read() const { return {{&state(), detail::ArrayUse::read}}; }
  /// The content is undefined until it is written: write all of it.
  [[nodiscard]] detail::TypedAccess<T> write() { return {{&state(), detail::ArrayUse::write}}; }
  /// Costs a copy on the device, unless the pass streams it.
  [[nodiscard]] detail::TypedAccess<T> modify() { return {{&state(), detail::ArrayUse::modify}}; }
};

/// The arrays of a pass.
template <class... Elements>
struct Arrays {
  std::tuple<detail::TypedAccess<Elements>...> accesses;
};

/// The arrays of a pass, in the order in which its functions take them.
template <class... Elements>
[[nodiscard]] Arrays<Elements...> arrays(const detail::TypedAccess<Elements>&... accesses) {
  return {{accesses...}};
}

template <class DeviceFn, class HostFn, class... Elements>
void Job::update(const Arrays<Elements...>& arrays, DeviceFn&& on_device, HostFn&& on_host) {
  static const Call call = call_of("update", {&typeid(Elements)...}, {sizeof(Elements)...});
  std::apply(
      [&](const auto&... accesses) {
        const detail::ArrayAccess list[] = {accesses...};
        run(plan_of(list),
            {.call = &call,
             .has_functions = !detail::is_null(on_device) && !detail::is_null(on_host),
             .host_only = detail::is_host_only<DeviceFn>,
             .local_units = std::nullopt,
             .prepare = [] {},
             .on_device = [&](Tile& tile) { on_device(tile, accesses.on_device(tile)...); },
             .on_host = [&](const HostTile& tile) { on_host(tile, accesses.on_host(tile)...); },
             .restore = [] {},
             .can_move = true,
             .arrays = list});
      },
      arrays.accesses);
}

template <class DeviceFn, class HostFn, class... Elements>
std::vector<double> Job::reduce(const Arrays<Elements...>& arrays, std::size_t width, DeviceFn&& on_device,
                                HostFn&& on_host) {
  static const Call call = call_of("reduce", {&typeid(Elements)...}, {sizeof(Elements)...});
  return std::apply(
      [&](const auto&... accesses) {
        const detail::ArrayAccess list[] = {accesses...};
        const auto of_tile = [&](Tile& tile, ReproducibleSum& sum) {
          on_device(tile, sum, accesses.on_device(tile)...);
        };
        const auto of_block = [&](const HostTile& tile, std::span<double> partial) {
          on_host(tile, partial, accesses.on_host(tile)...);
        };
        FunctionRef<void(Tile&, ReproducibleSum&)> device;
        FunctionRef<void(const HostTile&, std::span<double>)> host;
        if (!detail::is_null(on_device)) device = of_tile;
        if (!detail::is_null(on_host)) host = of_block;
        return sum_blocks(plan_of(list), width, detail::is_host_only<DeviceFn> ? nullptr : &device, host, 0,
                          call, list);
      },
      arrays.accesses);
}

template <Reducer R, class DeviceFn, class HostFn, class... Elements>
typename R::Value Job::reduce(const Arrays<Elements...>& arrays, const R& reducer, DeviceFn&& on_device,
                              HostFn&& on_host) {
  static const Call call =
      call_of("reduce", {&typeid(R), &typeid(Elements)...}, {sizeof(typename R::Value), sizeof(Elements)...});
  return std::apply(
      [&](const auto&... accesses) {
        const detail::ArrayAccess list[] = {accesses...};
        return reduce_by(plan_of(list), reducer, on_device, on_host, 0, call, list, accesses...);
      },
      arrays.accesses);
}

template <class... Elements>
void Job::download(Array<Elements>&... arrays) {
  ArrayBase* const list[] = {&arrays...};
  download_together(list);
}

}  // namespace TESSERA_NAMESPACE
