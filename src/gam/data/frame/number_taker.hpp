// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/frame/column_numbers.hpp"

#include <cstddef>
#include <span>

namespace TESSERA_NAMESPACE::gam {

/// Receives numbers of columns in memory from the threads that read a table, while the numbers are in a
/// thread's cache, so that further processing needs no second read.
class NumberTaker {
 public:
  NumberTaker() = default;
  virtual ~NumberTaker() = default;
  NumberTaker(const NumberTaker&) = delete;
  NumberTaker& operator=(const NumberTaker&) = delete;

  /// Called at the start of each reading of all rows: numbers of an earlier reading are passed again.
  virtual void begin() noexcept = 0;
  /// `numbers`: numbers of this rank's rows from row `first` on; `column`: the table's column. Several
  /// threads call this concurrently, with different `thread`.
  virtual void take(int thread, const ColumnNumbers& column, std::size_t first,
                    std::span<const double> numbers) noexcept = 0;
};

}  // namespace TESSERA_NAMESPACE::gam
