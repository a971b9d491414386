// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/version.hpp>

#include <cstdint>
#include <limits>
#include <type_traits>

/// Reducers for `Job::reduce`: minimum, maximum, their positions, sum, several reducers at once, or an
/// operation of the application. For host and device code: nvcc takes `constexpr` functions into kernels with
/// --expt-relaxed-constexpr, NVRTC with --device-as-default-execution-space and `standard_headers()`.
namespace TESSERA_NAMESPACE {

/// A type with
/// - `Value`, trivially copyable and aligned to 16 bytes or less: the combined value of consecutive units,
/// - `identity()`, the neutral element, which is also the result for a plan without units, and
/// - `combine(left, right)`, the combined value of the units of `left` and the units of `right`, which follow
///   the units of `left`. `combine` must be associative, at least up to rounding; it need not be commutative.
///   Several threads call it.
///
/// The reducer must be the same on every rank. Example of an application's reducer:
///
///     struct Product {                      // 2 x 2 matrices
///       using Value = Matrix;
///       static constexpr Value identity() { return {1, 0, 0, 1}; }
///       static constexpr Value combine(const Value& left, const Value& right) { … }
///     };
///
/// Values are combined in a binary tree over the blocks: block 0 with 1, 2 with 3, and so on, then the
/// results in the same way; an unpaired last value moves up a level unchanged. The order depends only on the
/// number of blocks, so that results have the same bits for any number of ranks and threads.
template <class R>
concept Reducer = std::is_trivially_copyable_v<typename R::Value> &&
    requires(const R& reducer, const typename R::Value& value) {
  requires std::is_convertible_v<decltype(reducer.identity()), typename R::Value>;
  requires std::is_convertible_v<decltype(reducer.combine(value, value)), typename R::Value>;
};

/// The sum. Integers wrap modulo 2^bits. Floating-point sums are rounded at each addition; `Job::reduce` with
/// a width gives sums of doubles that are rounded once.
template <class T>
struct Sum {
  static_assert(std::is_arithmetic_v<T>);
  using Value = T;
  static constexpr T identity() { return T{}; }
  static constexpr T combine(T left, T right) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::uint64_t>(left) + static_cast<std::uint64_t>(right));
    else
      return left + right;
  }
};

namespace detail {
/// False for NaN. Usable in kernels and, unlike `std::isnan`, constexpr.
template <class T>
constexpr bool is_number(T x) {
  return x == x;  // NOLINT(misc-redundant-expression): false for NaN
}
}  // namespace detail

/// The minimum. If there is a NaN, the result is the first NaN. Ties (0 and -0): the first. Without values:
/// infinity, or the largest integer.
template <class T>
struct Minimum {
  static_assert(std::is_arithmetic_v<T>);
  using Value = T;
  static constexpr T identity() {
    using Limits = std::numeric_limits<T>;
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
  /// Whether `a` takes precedence over `b`.
  static constexpr bool precedes(T a, T b) { return detail::is_number(a) ? a < b : detail::is_number(b); }
  static constexpr T combine(T left, T right) { return precedes(right, left) ? right : left; }
};

/// The maximum, with the rules of `Minimum`. Without values: -infinity, or the lowest integer.
template <class T>
struct Maximum {
  static_assert(std::is_arithmetic_v<T>);
  using Value = T;
  static constexpr T identity() {
    using Limits = std::numeric_limits<T>;
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  }
  static constexpr bool precedes(T a, T b) { return detail::is_number(a) ? b < a : detail::is_number(b); }
  static constexpr T combine(T left, T right) { return precedes(right, left) ? right : left; }
};

/// A number and its position, such as the index of a unit.
template <class T>
struct Located {
  T value;
  std::int64_t at;
  /// The position if there are no units, as in the identity.
  static constexpr std::int64_t nowhere = std::numeric_limits<std::int64_t>::max();
};

namespace detail {
/// The extreme of two numbers, with its position. Ties, also of two NaNs: the lower position.
template <class Extreme>
struct ExtremeAt {
  using Value = Located<typename Extreme::Value>;
  static constexpr Value identity() { return {Extreme::identity(), Value::nowhere}; }
  static constexpr Value combine(const Value& left, const Value& right) {
    if (Extreme::precedes(left.value, right.value)) return left;
    return Extreme::precedes(right.value, left.value) || right.at < left.at ? right : left;
  }
};
}  // namespace detail

/// The minimum and its position. A NaN takes precedence over numbers. Ties, also of NaNs: the lowest
/// position. Without values: the identity of `Minimum`, at `nowhere`.
template <class T>
struct MinimumAt : detail::ExtremeAt<Minimum<T>> {};
/// The maximum and its position, with the rules of `MinimumAt`.
template <class T>
struct MaximumAt : detail::ExtremeAt<Maximum<T>> {};

/// A member of a structure and its reducer: `Field<&Look::step, Minimum<double>>`.
template <auto member, class R>
struct Field;
template <class Structure, class T, T Structure::*member, class R>
struct Field<member, R> {
  static_assert(std::is_same_v<T, typename R::Value>, "a field is of its reducer's type");
  using Parent = Structure;
  static constexpr void set_identity(Structure& value) { value.*member = R::identity(); }
  static constexpr void add(Structure& left, const Structure& right) {
    left.*member = R::combine(left.*member, right.*member);
  }
};

/// Several reducers in one pass, each for one member of an application's structure:
///
///     struct Look {
///       double step;
///       std::int64_t cells;
///     };
///     using Looks = tessera::Fields<tessera::Field<&Look::step, tessera::Minimum<double>>,
///                                   tessera::Field<&Look::cells, tessera::Sum<std::int64_t>>>;
///
/// Members without a reducer keep the first block's values.
template <class First, class... Others>
struct Fields {
  using Value = typename First::Parent;
  static constexpr Value identity() {
    Value value{};
    First::set_identity(value);
    (Others::set_identity(value), ...);
    return value;
  }
  static constexpr Value combine(Value left, const Value& right) {
    First::add(left, right);
    (Others::add(left, right), ...);
    return left;
  }
};

}  // namespace TESSERA_NAMESPACE
