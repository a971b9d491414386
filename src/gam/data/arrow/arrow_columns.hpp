// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/data/arrow/arrow_batches.hpp"
#include "gam/data/arrow/arrow_type.hpp"
#include "gam/data/arrow/arrow_values.hpp"

#include <tessera/gam/arrow.hpp>
#include <tessera/job/host_team.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

/// The columns of this rank's batches, used in place or converted. A table's spans refer to it.
///
///     ArrowColumns columns(std::move(batches), options, team);
///     columns.set_levels(levels_of_all_ranks(columns.levels()), team);
///     table.columns = columns.columns();
class ArrowColumns {
 public:
  /// Throws `Error` as `arrow_table` does.
  ArrowColumns(ArrowBatches batches, const ArrowOptions& options, HostTeam& team);

  [[nodiscard]] std::int64_t rows() const noexcept { return rows_; }
  /// A factor's levels, in the order of their first rows or of their dictionary, or as given by the options.
  struct Levels {
    std::string column;
    std::vector<std::string> levels;

    void members(const auto& to) { to(column, levels); }
  };
  [[nodiscard]] std::vector<Levels> levels() const;
  /// Recodes the factors by these levels, which must include all of this rank's; the same columns in the same
  /// order.
  void set_levels(std::vector<Levels> levels, HostTeam& team);
  [[nodiscard]] std::vector<Table::Column> columns() const;

 private:
  /// A column of one batch: numbers, or codes and their texts (nothing: missing). Stored in `own_…` unless
  /// used in place.
  struct Part {
    std::span<const double> numbers{};
    std::span<const std::int32_t> codes{};
    std::vector<std::optional<std::string_view>> texts{};
    std::vector<double> own_numbers{};
    std::vector<std::int32_t> own_codes{};
  };
  struct Column {
    std::string name;
    std::int64_t place = 0;  ///< index in the schema
    const ArrowSchema* schema = nullptr;
    ArrowType type{};
    ArrowType dictionary{};  ///< type of its values
    std::vector<Part> parts{};
    std::vector<std::string> levels{};
    bool given = false;  ///< the options give its levels
    bool ordered = false;

    [[nodiscard]] bool coded() const noexcept { return schema->dictionary != nullptr; }
    [[nodiscard]] bool factor() const noexcept {
      return coded() || type.is_text() || type.kind == ArrowType::Kind::boolean;
    }
  };

  void choose_columns(const ArrowOptions& options);
  [[nodiscard]] Column column_of(std::int64_t place, const std::string& name) const;
  void check_batch(const ArrowArray& batch, std::size_t number) const;
  static void read(const Column& column, const ArrowArray& batch, const std::string& what, Part& part);
  static void read_numbers(const ArrowType& type, const ArrowValues& values, Part& part);
  static void read_truths(const ArrowValues& values, Part& part);
  static void read_texts(const ArrowValues& values, const std::string& what, Part& part);
  static void read_codes(const Column& column, const ArrowArray& array, const ArrowValues& values,
                         const std::string& what, Part& part);
  /// Throws unless a batch's ordered dictionary agrees with the order of the levels.
  static void check_order(const Column& column, std::size_t batch, std::vector<std::int32_t> codes);
  static void recode(std::span<const std::int32_t> to, Part& part);
  template <class Work>
  void for_each_part(HostTeam& team, const Work& work);

  ArrowBatches from_;
  std::int64_t rows_ = 0;
  std::vector<Column> columns_;
};

}  // namespace TESSERA_NAMESPACE::gam
