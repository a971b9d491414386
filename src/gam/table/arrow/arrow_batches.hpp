// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/table/bytes/byte_source.hpp"

#include <tessera/error.hpp>
#include <tessera/gam/arrow.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Record batches as a producer hands them over: who owns them, and where they come from.
namespace TESSERA_NAMESPACE::gam {

/// A structure of Arrow's that was moved out of its producer's, which is marked as released. Its release
/// callback is called once.
template <class T>
class ArrowOwner {
 public:
  ArrowOwner() = default;
  explicit ArrowOwner(T& from) noexcept : it_(from) { from.release = nullptr; }
  ArrowOwner(ArrowOwner&& other) noexcept : it_(std::exchange(other.it_, {})) {}
  ArrowOwner& operator=(ArrowOwner&& other) noexcept {
    std::swap(it_, other.it_);
    return *this;
  }
  ArrowOwner(const ArrowOwner&) = delete;
  ArrowOwner& operator=(const ArrowOwner&) = delete;
  ~ArrowOwner() {
    if (it_.release != nullptr) it_.release(&it_);
  }

  /// False if it was released.
  explicit operator bool() const noexcept { return it_.release != nullptr; }
  [[nodiscard]] const T& operator*() const noexcept { return it_; }
  [[nodiscard]] const T* operator->() const noexcept { return &it_; }
  /// For a producer, to be written to or called.
  [[nodiscard]] T* out() noexcept { return &it_; }

 private:
  T it_{};
};

/// What a caller has handed over: released at the end, as far as nobody has taken it.
template <class T>
class HandedOver {
 public:
  HandedOver(T* first, std::size_t count) noexcept : all_(first, first != nullptr ? count : 0) {}
  ~HandedOver() {
    for (T& one : all_) {
      if (one.release != nullptr) one.release(&one);
    }
  }
  HandedOver(const HandedOver&) = delete;
  HandedOver& operator=(const HandedOver&) = delete;

 private:
  std::span<T> all_;
};

/// More rows than a table has, so that the places of values in bytes do not overflow.
inline constexpr std::int64_t most_arrow_rows = std::int64_t{1} << 40;

struct ArrowBatches {
  ArrowOwner<ArrowSchema> schema;
  std::vector<ArrowOwner<ArrowArray>> batches;
};

/// Takes these over. Throws `Error(usage)` for what is null or was released; the others are released then.
[[nodiscard]] ArrowBatches take_batches(ArrowSchema* schema, std::span<ArrowArray> batches);
/// Record batches of one column, which is named so: of its type and the arrays of its values, which are taken
/// over in the same way.
[[nodiscard]] ArrowBatches take_column(const std::string& name, ArrowSchema* schema,
                                       std::span<ArrowArray> chunks);
/// Reads a stream to its end, and releases it. `between` is called before each batch. Throws `Error(usage)`
/// for one that is null or was released, and `Error(input)` for one that fails.
[[nodiscard]] ArrowBatches take_batches(ArrowArrayStream* stream, const BetweenReads& between);

[[noreturn]] void refuse_arrow(ErrorCode code, std::string_view what);

}  // namespace TESSERA_NAMESPACE::gam
