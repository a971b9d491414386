// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/table/frame/column_numbers.hpp"

#include <cstddef>
#include <span>

namespace TESSERA_NAMESPACE::gam {

/// Is given the numbers of columns in memory by the threads that read a table, while these have them in their
/// caches: what else is done with each number costs no second look at memory.
class NumberTaker {
 public:
  NumberTaker() = default;
  virtual ~NumberTaker() = default;
  NumberTaker(const NumberTaker&) = delete;
  NumberTaker& operator=(const NumberTaker&) = delete;

  /// All rows are about to be read; what was given before is given again.
  virtual void begin() noexcept = 0;
  /// `numbers` are those of this rank's rows from `first` on; `column` is the table's. On several threads at
  /// once, each with its own number.
  virtual void take(int thread, const ColumnNumbers& column, std::size_t first,
                    std::span<const double> numbers) noexcept = 0;
};

}  // namespace TESSERA_NAMESPACE::gam
