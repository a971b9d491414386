// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/c/errors.hpp"

#include <tessera/function.hpp>
#include <tessera/gam/many.hpp>
#include <tessera/gam/model.hpp>
#include <tessera/gam/predict.hpp>
#include <tessera/gam/table.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

/// Handles of objects of the C interface. The handle of a closed object is not reused.
namespace TESSERA_NAMESPACE::gam::c {

enum class Kind : std::uint8_t { table = 1, model = 2, answer = 3 };

struct Answer {
  Predictions table;
  std::shared_ptr<const ManyResults>
      many{};  ///< results of `fit_many` with covariances, for `model_of` and curves; otherwise null
};

template <class Object>
inline constexpr Kind kind_of{};
template <>
inline constexpr Kind kind_of<Table> = Kind::table;
template <>
inline constexpr Kind kind_of<Model> = Kind::model;
template <>
inline constexpr Kind kind_of<Answer> = Kind::answer;

/// Thread-safe, like the following functions, which throw `Error(usage)` if `handle` is not open as a `kind`.
[[nodiscard]] std::uint64_t add_handle(Kind kind, std::shared_ptr<void> object);
[[nodiscard]] std::shared_ptr<void> find_handle(Kind kind, std::uint64_t handle);
void close_handle(Kind kind, std::uint64_t handle);
/// Calls `change(object)` with exclusive access. Throws `Error(usage)` if a call in progress uses the object.
void change_unused(Kind kind, std::uint64_t handle, FunctionRef<void(void* object)> change);
void close_all_handles();

template <class Object>
[[nodiscard]] std::uint64_t handle_of(Object object) {
  return add_handle(kind_of<Object>, std::make_shared<Object>(std::move(object)));
}
/// The object, which stays alive even if another thread closes the handle.
template <class Object>
[[nodiscard]] std::shared_ptr<const Object> object_of(std::uint64_t handle) {
  return std::static_pointer_cast<const Object>(find_handle(kind_of<Object>, handle));
}
/// The models of `count` handles. Throws `Error(usage)` if `count` is 0.
[[nodiscard]] std::vector<Model> models_of(const std::uint64_t* models, std::size_t count);
/// The table of an answer. Shares ownership of the answer.
[[nodiscard]] inline std::shared_ptr<const Predictions> table_of(std::uint64_t answer) {
  auto of = object_of<Answer>(answer);
  return {of, &of->table};
}

}  // namespace TESSERA_NAMESPACE::gam::c
