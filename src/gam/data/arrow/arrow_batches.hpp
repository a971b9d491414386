// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/bytes/byte_source.hpp"

#include <tessera/error.hpp>
#include <tessera/gam/arrow.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Record batches received from a producer: ownership and sources.
namespace TESSERA_NAMESPACE::gam {

/// An Arrow structure moved out of its producer's, which is marked as released. Its release callback is
/// called once.
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

  /// Whether the structure is still valid, i.e. was not released.
  explicit operator bool() const noexcept { return it_.release != nullptr; }
  [[nodiscard]] const T& operator*() const noexcept { return it_; }
  [[nodiscard]] const T* operator->() const noexcept { return &it_; }
  /// The structure, for a producer to fill in, or for its functions to be called.
  [[nodiscard]] T* out() noexcept { return &it_; }

 private:
  T it_{};
};

/// A structure passed in by a caller: released at the end unless it was taken over.
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

/// Upper bound on rows, so that byte offsets of values do not overflow.
inline constexpr std::int64_t most_arrow_rows = std::int64_t{1} << 40;

struct ArrowBatches {
  ArrowOwner<ArrowSchema> schema;
  std::vector<ArrowOwner<ArrowArray>> batches;
};

/// Takes ownership of schema and batches. Throws `Error(usage)` for a null pointer or a released structure,
/// after releasing all others.
[[nodiscard]] ArrowBatches take_batches(ArrowSchema* schema, std::span<ArrowArray> batches);
/// Record batches with a single column of this name: takes ownership of its type and its arrays in the same
/// way.
[[nodiscard]] ArrowBatches take_column(const std::string& name, ArrowSchema* schema,
                                       std::span<ArrowArray> chunks);
/// Reads a stream to its end, and releases it. `between` is called before each batch. Throws `Error(usage)`
/// for a stream that is null or was released, and `Error(input)` for one that fails.
[[nodiscard]] ArrowBatches take_batches(ArrowArrayStream* stream, const BetweenReads& between);

/// A fault of Arrow's structures: "the Arrow table: …".
class ArrowFault : public Error {
 public:
  ArrowFault(ErrorCode code, std::string_view fault);
  /// The fault without the name of the table.
  [[nodiscard]] const std::string& fault() const noexcept { return fault_; }

 private:
  std::string fault_;
};

[[noreturn]] void refuse_arrow(ErrorCode code, std::string_view fault);
/// As above, with a message as of `fmt::format`.
template <class First, class... Values>
[[noreturn]] void refuse_arrow(ErrorCode code, fmt::format_string<First, Values...> fault, First&& first,
                               Values&&... values) {
  refuse_arrow(code, fmt::format(fault, std::forward<First>(first), std::forward<Values>(values)...));
}

}  // namespace TESSERA_NAMESPACE::gam
