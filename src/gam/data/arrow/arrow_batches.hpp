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

/// Record batches received from a producer, and their ownership.
namespace TESSERA_NAMESPACE::gam {

/// RAII owner of an Arrow structure, moved out of the producer's variable, which is then marked as released.
/// Calls the structure's release callback once.
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

  /// Whether the structure is valid, i.e. not released.
  explicit operator bool() const noexcept { return it_.release != nullptr; }
  [[nodiscard]] const T& operator*() const noexcept { return it_; }
  [[nodiscard]] const T* operator->() const noexcept { return &it_; }
  /// The structure, for a producer that fills it in or for calls of its functions.
  [[nodiscard]] T* out() noexcept { return &it_; }

 private:
  T it_{};
};

/// Structures passed in by a caller: each is released at the end of scope unless its ownership was taken.
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

/// Takes ownership of schema and batches. Throws `Error(usage)` for a null pointer or a released structure;
/// all other structures are then released.
[[nodiscard]] ArrowBatches take_batches(ArrowSchema* schema, std::span<ArrowArray> batches);
/// Record batches with a single column called `name`. Takes ownership like `take_batches` above.
[[nodiscard]] ArrowBatches take_column(const std::string& name, ArrowSchema* schema,
                                       std::span<ArrowArray> chunks);
/// Reads a stream to its end, and releases the stream. `between` is called before each batch. Throws
/// `Error(usage)` for a null or released stream, and `Error(input)` for a failed call of the stream.
[[nodiscard]] ArrowBatches take_batches(ArrowArrayStream* stream, const BetweenReads& between);

/// A fault in an Arrow structure: "the Arrow table: …".
class ArrowFault : public Error {
 public:
  ArrowFault(ErrorCode code, std::string_view fault);
  /// The message without the words "the Arrow table".
  [[nodiscard]] const std::string& fault() const noexcept { return fault_; }

 private:
  std::string fault_;
};

[[noreturn]] void refuse_arrow(ErrorCode code, std::string_view fault);
/// Like `refuse_arrow` above, with a message in the syntax of `fmt::format`.
template <class First, class... Values>
[[noreturn]] void refuse_arrow(ErrorCode code, fmt::format_string<First, Values...> fault, First&& first,
                               Values&&... values) {
  refuse_arrow(code, fmt::format(fault, std::forward<First>(first), std::forward<Values>(values)...));
}

}  // namespace TESSERA_NAMESPACE::gam
