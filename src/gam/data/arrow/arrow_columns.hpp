// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/arrow/arrow_batches.hpp"
#include "gam/data/arrow/arrow_part.hpp"

#include <tessera/gam/arrow.hpp>
#include <tessera/job/host_team.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The columns of this rank's batches, used in place or converted. Spans of `columns()` refer to this object.
///
///     ArrowColumns columns(std::move(batches), options, team);
///     columns.set_levels(levels_of_all_ranks(columns.levels()), team);
///     table.columns = columns.columns();
class ArrowColumns {
 public:
  /// Throws `Error` like `arrow_table`.
  ArrowColumns(ArrowBatches batches, const ArrowOptions& options, HostTeam& team);

  [[nodiscard]] std::int64_t rows() const noexcept { return rows_; }
  /// A factor's levels: as given by the options, else in the order of the dictionary or of first occurrence.
  struct Levels {
    std::string column;
    std::vector<std::string> levels;

    void members(const auto& to) { to(column, levels); }
  };
  [[nodiscard]] std::vector<Levels> levels() const;
  /// Recodes the factors to `levels`: the columns of `levels()` in the same order, each with at least all
  /// levels that this rank has.
  void set_levels(std::vector<Levels> levels, HostTeam& team);
  [[nodiscard]] std::vector<Table::Column> columns() const;

 private:
  struct Column : ArrowColumn {
    std::vector<ArrowPart> parts{};
    std::vector<std::string> levels{};
    bool given = false;  ///< whether the options give the levels
    LevelOrder order = LevelOrder::sorted;
  };

  void choose_columns(const ArrowOptions& options);
  void check_batch(const ArrowArray& batch, std::size_t number) const;
  /// Throws if an ordered dictionary of the batch contradicts the order of the column's levels.
  static void check_order(const Column& column, std::size_t batch, std::vector<std::int32_t> codes);
  static void recode(std::span<const std::int32_t> to, ArrowPart& part);
  template <class Work>
  void for_each_part(HostTeam& team, const Work& work);

  ArrowBatches from_;
  std::int64_t rows_ = 0;
  std::vector<Column> columns_;
};

}  // namespace TESSERA_NAMESPACE::gam
