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

/// Number and size of an array's copies between host memory and the devices of this rank, since the array was
/// constructed.
struct ArrayTraffic {
  std::int64_t uploads = 0;  ///< copies to devices, each of a tile or of a part of one
  std::int64_t uploaded_bytes = 0;
  std::int64_t downloads = 0;
  std::int64_t downloaded_bytes = 0;
};

/// Base class of `Array`, independent of the element type.
class TESSERA_EXPORT ArrayBase {
 public:
  ArrayBase(ArrayBase&& other) noexcept;
  ArrayBase& operator=(ArrayBase&& other) noexcept;

  /// The plan by which the elements are currently distributed.
  [[nodiscard]] const Plan& plan() const;
  /// The version of the array: the number of passes that wrote it, plus the number of calls of
  /// `Array::overwrite`. The same on every rank. It decreases after an `Error(rolled_back)`.
  [[nodiscard]] std::int64_t version() const;
  /// The version of the elements in host memory: less than `version()` if later passes have changed the array
  /// on devices.
  [[nodiscard]] std::int64_t host_version() const;
  [[nodiscard]] ArrayTraffic traffic() const;

  /// *Collective.* Redistributes the elements by `plan`, which must have the same number of units. Copies the
  /// array to the hosts first. Throws like `Job::download` and `Job::move`.
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
  write,   ///< writes all of the next version, whose initial content is undefined
  modify,  ///< writes the next version, which starts as a copy of the last one
};

struct ArrayAccess {
  ArrayState* array = nullptr;
  ArrayUse use = ArrayUse::read;
};

/// The array's elements for the units of `tile`. `units_on_device`: in the memory of the tile's device.
/// `units_on_host`, for a host function: in the memory of the device `HostTile::device` if it holds the
/// array, else in the rank's host memory. Empty if the tile has no units.
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

/// An array with a fixed number of elements per unit of a plan, which stays in device memory from pass to
/// pass. Host memory holds the elements of this rank's units; each device holds those of its tile.
///
///     tessera::Array<double> matrix(job, plan, columns);    // units are rows
///     tessera::Array<double> state(job, plan);
///     load(matrix.overwrite());                             // this rank's rows
///     for (int step = 0; step < 200; ++step)
///       job.update(tessera::arrays(matrix.read(), state.modify()), on_device, on_host);
///     job.download(state);
///     save(state.host());
///
/// `matrix` is copied to the devices once. `state` is copied only by the download, because a new array is
/// zero-filled on the devices.
///
/// *Versions*: a pass that writes or modifies an array makes a new version of it, which is valid once all
/// ranks have voted that the pass succeeded. A failed pass leaves the last version unchanged. A device
/// therefore holds two copies of an array that passes change; the host holds two copies during a download and
/// during a pass that writes the array on the host. Copies to and from a device go through pinned memory, on
/// up to eight host threads for each device.
///
/// *Memory*: arrays stay on the devices as long as they fit the memory budgets
/// (`JobOptions::memory_fraction`). A pass that needs more memory evicts arrays that it does not use, least
/// recently used first; a version that exists only on devices is first copied to the hosts. If the arrays of
/// one pass exceed the budget of a device, all devices *stream* them: each tile is processed in parts, which
/// are copied to the device, computed and copied back, `JobOptions::parts_in_flight` of them at a time
/// (`Tile`). All versions are then on the hosts. If a single block does not fit, the pass falls back.
///
/// *Device failures*: versions that exist only on devices are copied to the hosts. Then the job falls back,
/// or excludes the device (`OnDeviceFailure`), and computes the pass again from these versions. If they
/// cannot be copied, all arrays of the job return to their versions in host memory, and every rank throws
/// `Error(rolled_back)`: resume from `version()`. Download arrays that belong together in one call of
/// `Job::download`, often enough that repeating the passes since then is affordable.
///
/// `T` is trivially copyable, aligned to 16 bytes or less. Not thread-safe. Every rank constructs and
/// destroys the arrays of a job in the same order, and between the same passes. The job, possibly moved, must
/// outlive its arrays. Move-only.
template <class T>
class Array : public ArrayBase {
  static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>, "devices copy byte by byte");
  static_assert(alignof(T) <= alignof(std::max_align_t));

 public:
  /// Allocates `width` consecutive elements for each unit of `plan`, filled with zero bytes. Throws
  /// `Error(usage)` if the plan's number of ranks is not the job's, or the width is not from 1 to 2^32 - 1,
  /// and `Error(job_fault)` if host memory is too small.
  Array(Job& job, const Plan& plan, std::int64_t width = 1) : ArrayBase(job, plan, width, sizeof(T)) {}

  /// This rank's elements in host memory, of the version `host_version()`. Valid until the next call that
  /// changes the array.
  [[nodiscard]] std::span<const T> host() const {
    const auto bytes = host_bytes();
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  /// Starts the next version in host memory, and returns this rank's elements for writing. Every rank makes
  /// this call, and writes before the next pass. Elements that are not written keep their values in `host()`;
  /// versions that exist only on devices are discarded. Throws `Error(usage)` in a function of a pass.
  [[nodiscard]] std::span<T> overwrite() {
    const auto bytes = overwritten_bytes();
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

  /// Arguments of `arrays`, which say how a pass uses the array. A pass may list an array as both `read` (the
  /// last version) and `write` (the next version).
  [[nodiscard]] detail::TypedAccess<const T> read() const { return {{&state(), detail::ArrayUse::read}}; }
  /// The initial content is undefined: the pass must write every element.
  [[nodiscard]] detail::TypedAccess<T> write() { return {{&state(), detail::ArrayUse::write}}; }
  /// Cost: a copy within device memory, unless the pass streams the array.
  [[nodiscard]] detail::TypedAccess<T> modify() { return {{&state(), detail::ArrayUse::modify}}; }
};

/// The result of `arrays`.
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
