// SPDX-License-Identifier: Apache-2.0
// Sums of products over the rows of a chunk. Compiled for each SIMD width: see base/each_width.hpp.

struct Four {
  UpToFour::Doubles parts[4 / UpToFour::count];
};

TESSERA_TARGET Four four_at(const double* from) {
  Four four{};
  for (int k = 0; k < 4; k += UpToFour::count) four.parts[k / UpToFour::count] = *UpToFour::at(from + k);
  return four;
}

/// to[k] += factor * four[k].
TESSERA_TARGET void add_multiple(double* to, double factor, const Four& four) {
  for (int k = 0; k < 4; k += UpToFour::count)
    *UpToFour::at(to + k) += factor * four.parts[k / UpToFour::count];
}

TESSERA_TARGET void scale_rows(const double* factors, int nonzeros, int count, const double* values,
                               double* products) {
  for (int r = 0; r < count; ++r, values += nonzeros, products += nonzeros) {
    int k = 0;
    for (; k + UpToFour::count <= nonzeros; k += UpToFour::count)
      *UpToFour::at(products + k) = factors[r] * *UpToFour::at(values + k);
    for (; k < nonzeros; ++k) products[k] = factors[r] * values[k];
  }
}

/// sums[start_a * columns + lines[i] + start_b + offsets[j]] += a_i b_j, for offsets in runs of four.
/// Template arguments: the numbers of nonzeros; 0: any number.
template <int row_nonzeros, int column_nonzeros>
TESSERA_TARGET void add_runs(const Product& product, const ProductPlaces& meet, int count,
                             const ProductSide& row, const ProductSide& column, double* sums) {
  const int rows = row_nonzeros > 0 ? row_nonzeros : product.row_nonzeros;
  const int columns = column_nonzeros > 0 ? column_nonzeros : product.column_nonzeros;
  // Nothing reads a symmetric product below its diagonal.
  const bool upper = column_nonzeros == 0 && product.symmetric;
  const std::int64_t line_size = product.columns;
  for (int r = 0; r < count; ++r) {
    const double* a = row.values + static_cast<std::ptrdiff_t>(r) * rows;
    const double* b = column.values + static_cast<std::ptrdiff_t>(r) * columns;
    double* corner = sums + row.starts[r] * line_size + column.starts[r];
    for (int j = 0; j < columns; j += 4) {
      const Four four = four_at(b + j);
      const int end = upper ? std::min(rows, j + 4) : rows;
      for (int i = 0; i < end; ++i) add_multiple(corner + meet.lines[i] + meet.offsets[j], a[i], four);
    }
  }
}

/// out += sum_ij a_i b_j form[index], with the index of `add_runs`.
template <int row_nonzeros, int column_nonzeros>
TESSERA_TARGET void apply_runs(const Product& product, const ProductPlaces& meet, int count,
                               const ProductSide& row, const ProductSide& column, const double* form,
                               double* out) {
  const int rows = row_nonzeros > 0 ? row_nonzeros : product.row_nonzeros;
  const int columns = column_nonzeros > 0 ? column_nonzeros : product.column_nonzeros;
  // A symmetric form below its diagonal is zero or not stored.
  const bool upper = column_nonzeros == 0 && product.symmetric;
  for (int r = 0; r < count; ++r) {
    const double* a = row.values + static_cast<std::ptrdiff_t>(r) * rows;
    const double* b = column.values + static_cast<std::ptrdiff_t>(r) * columns;
    const double* corner = form + std::int64_t{product.columns} * row.starts[r] + column.starts[r];
    double sum = 0;
    for (int i = 0; i < rows; ++i) {
      Four parts{};
      for (int j = upper ? i / 4 * 4 : 0; j < columns; j += 4) {
        const double* line = corner + meet.lines[i] + meet.offsets[j];
        for (int k = 0; k < 4; k += UpToFour::count)
          parts.parts[k / UpToFour::count] += *UpToFour::at(line + k) * *UpToFour::at(b + j + k);
      }
      double four[4];
      for (int k = 0; k < 4; k += UpToFour::count) *UpToFour::at(four + k) = parts.parts[k / UpToFour::count];
      sum += a[i] * ((four[0] + four[2]) + (four[1] + four[3]));
    }
    out[r] += sum;
  }
}

/// `add_to_aligned` for a fixed number of nonzeros of the row term.
template <int row_nonzeros>
TESSERA_TARGET void add_aligned(const AlignedTarget& to, int count, const ProductSide& row,
                                const ProductSide& column) {
  int corners[chunk_rows];
  for (int r = 0; r < count; ++r) {
    const int remainder = column.starts[r] & 3;
    corners[r] = remainder * to.matrix + row.starts[r] * to.columns + (column.starts[r] - remainder);
  }
  std::ptrdiff_t runs[row_nonzeros];
  std::copy_n(to.runs, row_nonzeros, runs);
  for (int r = 0; r < count; ++r) {
    const Four four = four_at(column.values + std::ptrdiff_t{4} * r);
    for (int i = 0; i < row_nonzeros; ++i)
      add_multiple(to.sums + corners[r] + runs[i], row.values[std::ptrdiff_t{row_nonzeros} * r + i], four);
  }
}

/// Adds all rows to a block of `lines` x `registers` sums in registers.
template <int lines, int registers>
TESSERA_TARGET void add_block(int count, int rows, int columns, const double* a, const double* b,
                              double* sums) {
  UpToFour::Doubles sum[lines][registers];
  const auto place = [&](int i, int k) {
    return sums + std::ptrdiff_t{i} * columns + std::ptrdiff_t{k} * UpToFour::count;
  };
  for (int i = 0; i < lines; ++i) {
    for (int k = 0; k < registers; ++k) sum[i][k] = *UpToFour::at(place(i, k));
  }
  for (int r = 0; r < count; ++r, a += rows, b += columns) {
    UpToFour::Doubles factor[registers];
    for (int k = 0; k < registers; ++k) factor[k] = *UpToFour::at(b + std::ptrdiff_t{k} * UpToFour::count);
    for (int i = 0; i < lines; ++i) {
      for (int k = 0; k < registers; ++k) sum[i][k] += a[i] * factor[k];
    }
  }
  for (int i = 0; i < lines; ++i) {
    for (int k = 0; k < registers; ++k) *UpToFour::at(place(i, k)) = sum[i][k];
  }
}

/// Adds to consecutive blocks of columns from column j on. Returns the first column not processed.
template <int lines, int registers>
TESSERA_TARGET int add_blocks(int j, int count, int rows, int columns, const double* a, const double* b,
                              double* sums) {
  constexpr int width = registers * UpToFour::count;
  for (; j + width <= columns; j += width)
    add_block<lines, registers>(count, rows, columns, a, b + j, sums + j);
  return j;
}

template <int lines>
TESSERA_TARGET void add_lines(bool upper, int count, int rows, int columns, const double* a, const double* b,
                              double* sums) {
  for (int i = 0; i < rows; i += lines) {
    double* line = sums + std::ptrdiff_t{i} * columns;
    int j = upper ? i : 0;
    // 4 x 5 registers of sums fit in the 32 registers of AVX-512.
    if constexpr (Wide::count == 8) j = add_blocks<lines, 5>(j, count, rows, columns, a + i, b, line);
    j = add_blocks<lines, 3>(j, count, rows, columns, a + i, b, line);
    add_blocks<lines, 1>(j, count, rows, columns, a + i, b, line);
  }
}

/// sums[i * columns + j] += a_i b_j for all i and j, in blocks of rows that fit the L1 cache.
TESSERA_TARGET void add_everywhere(const Product& product, int count, const ProductSide& row,
                                   const ProductSide& column, double* sums) {
  const int rows = product.rows;
  const int columns = product.columns;
  if (columns == 1) {
    double sum = *sums;
    for (int r = 0; r < count; ++r) sum += row.values[r] * column.values[r];
    *sums = sum;
    return;
  }
  constexpr int cached_numbers = 4096;
  const int step = std::max(16, cached_numbers / (rows + columns));
  for (int begin = 0; begin < count; begin += step) {
    const int some = std::min(step, count - begin);
    const double* a = row.values + static_cast<std::ptrdiff_t>(begin) * rows;
    const double* b = column.values + static_cast<std::ptrdiff_t>(begin) * columns;
    if (rows % 4 == 0)
      add_lines<4>(product.symmetric, some, rows, columns, a, b, sums);
    else
      add_lines<1>(product.symmetric, some, rows, columns, a, b, sums);
  }
}
