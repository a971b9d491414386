// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/column_numbers.hpp"

#include <cstddef>
#include <span>

namespace TESSERA_NAMESPACE::gam {

/// Receives the numbers of columns in memory from the threads that read a table, while they are in a thread's
/// cache, so that further processing needs no second read.
class NumberTaker {
 public:
  NumberTaker() = default;
  virtual ~NumberTaker() = default;
  NumberTaker(const NumberTaker&) = delete;
  NumberTaker& operator=(const NumberTaker&) = delete;

  /// Called before all rows are read; numbers passed earlier are passed again.
  virtual void begin() noexcept = 0;
  /// `numbers` are the numbers of this rank's rows from `first` on; `column` is the table's. Called
  /// concurrently by several threads, each with its own number.
  virtual void take(int thread, const ColumnNumbers& column, std::size_t first,
                    std::span<const double> numbers) noexcept = 0;
};

}  // namespace TESSERA_NAMESPACE::gam
