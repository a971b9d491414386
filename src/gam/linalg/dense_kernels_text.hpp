// SPDX-License-Identifier: Apache-2.0
// Kernels of dense_kernels.hpp for a SIMD width of TESSERA_PACKET doubles. The compiler vectorises inner
// loops without reordering additions. Do not call inline functions of other headers: the linker might use
// this file's copies, with its instruction set, in the whole program.
#include "gam/linalg/dense_kernels.hpp"

#include <new>

namespace TESSERA_NAMESPACE::gam {
namespace {

using Numbers = base::Packet<TESSERA_PACKET>;

// Products follow Goto and van de Geijn (ACM Trans. Math. Softw. 34, 2008): a block of a and a panel of b are
// packed into contiguous memory, and tiles of the result are summed in registers.

/// Size of a tile: its sums and the operands of one step fill the registers.
constexpr int packets_of_tile = Numbers::count == 8 ? 3 : 2;
constexpr int tile_rows = packets_of_tile * Numbers::count;
constexpr int tile_columns = Numbers::count == 8 ? 8 : 4;
/// Size of a block of a, which fits the L2 cache, and of the inner dimension of a panel of b. block_inner
/// affects rounding: up to block_inner products are summed in registers before they are added to the result.
constexpr int block_rows = 96;
constexpr int block_inner = 256;

constexpr int least(int a, int b) {
  return a < b ? a : b;
}
constexpr int whole_tiles(int count, int tile) {
  return (count + tile - 1) / tile * tile;
}

/// Memory for packed factors; on the stack for a small product.
class Packed {
 public:
  explicit Packed(std::ptrdiff_t count) {
    if (count <= own_count) return;
    constexpr std::align_val_t cache_line{64};
    more_ =
        static_cast<double*>(::operator new[](sizeof(double) * static_cast<std::size_t>(count), cache_line));
  }
  ~Packed() { ::operator delete[](more_, std::align_val_t{64}); }
  Packed(const Packed&) = delete;
  Packed& operator=(const Packed&) = delete;
  [[nodiscard]] double* get() noexcept { return more_ != nullptr ? more_ : own_; }

 private:
  static constexpr std::ptrdiff_t own_count = 2048;
  double* more_ = nullptr;
  alignas(64) double own_[own_count];
};

/// Packs `lines` lines (rows of a, columns of b) of `inner` elements, in groups of `group` lines: within a
/// group, all first elements, all second elements, and so on. Pads the last group with zeros.
template <int group>
void pack(const double* from, std::ptrdiff_t line_step, std::ptrdiff_t inner_step, int lines, int inner,
          double* to) {
  for (int line = 0; line < lines; line += group, to += std::ptrdiff_t{group} * inner) {
    const double* const first = from + line * line_step;
    const int count = least(group, lines - line);
    if (count == group && line_step == 1) {
      for (int l = 0; l < inner; ++l) {
        for (int i = 0; i < group; ++i) to[std::ptrdiff_t{group} * l + i] = first[l * inner_step + i];
      }
    } else {
      for (int i = 0; i < group; ++i) {
        const double* const own = first + i * line_step;
        for (int l = 0; l < inner; ++l)
          to[std::ptrdiff_t{group} * l + i] = i < count ? own[l * inner_step] : 0;
      }
    }
  }
}

struct Tile {
  const double *a, *b;  ///< packed
  int inner;
  double scale;
  double* to;
  std::ptrdiff_t stride;
  int rows, columns;
};

/// Adds scale a b to a tile. Sums whole packets, but stores only tile.rows x tile.columns elements.
template <int packets, int some_columns>
void add_tile(const Tile& tile) {
  Numbers sums[some_columns][packets]{};
  const double* a = tile.a;
  const double* b = tile.b;
  for (int l = 0; l < tile.inner; ++l, a += tile_rows, b += tile_columns) {
    Numbers down[packets];
    for (int i = 0; i < packets; ++i) down[i] = Numbers::at(a + i * Numbers::count);
    for (int j = 0; j < some_columns; ++j) {
      const Numbers factor(b[j]);
      for (int i = 0; i < packets; ++i) sums[j][i] += down[i] * factor;
    }
  }
  const Numbers scale(tile.scale);
  for (int j = 0; j < tile.columns; ++j) {
    double* const to = tile.to + j * tile.stride;
    for (int i = 0; i < packets; ++i) {
      double* const place = to + i * Numbers::count;
      const int rows = tile.rows - i * Numbers::count;
      if (rows >= Numbers::count) {
        (Numbers::at(place) + scale * sums[j][i]).store(place);
      } else {
        double scaled[Numbers::count];
        (scale * sums[j][i]).store(scaled);
        for (int k = 0; k < rows; ++k) place[k] += scaled[k];
      }
    }
  }
}

template <int packets>
void add_tile_of(const Tile& tile) {
  if constexpr (packets > 1) {
    if (tile.rows <= (packets - 1) * Numbers::count) return add_tile_of<packets - 1>(tile);
  }
  if (tile.columns <= tile_columns / 2)
    add_tile<packets, tile_columns / 2>(tile);
  else
    add_tile<packets, tile_columns>(tile);
}

/// A dot product in eight lanes for every SIMD width, so that rounding is the same.
constexpr int lanes = 8;
struct LaneSums {
  Numbers parts[lanes / Numbers::count]{};
  void add(const double* a, const double* x) {
    for (int k = 0; k < lanes; k += Numbers::count)
      parts[k / Numbers::count] += Numbers::at(a + k) * Numbers::at(x + k);
  }
  /// The dot product, after adding the last `count` < lanes products.
  [[nodiscard]] double total(const double* a, const double* x, int count) const {
    double sums[lanes];
    for (int k = 0; k < lanes; k += Numbers::count) parts[k / Numbers::count].store(sums + k);
    for (int k = 0; k < count; ++k) sums[k] += a[k] * x[k];
    return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
  }
};

}  // namespace

template <int width>
void DenseKernels<width>::add_product(const DenseProduct& product) {
  const auto& [rows, columns, inner, scale, a, b, to, stride] = product;
  const std::ptrdiff_t most_inner = least(inner, block_inner);
  const std::ptrdiff_t block_size = whole_tiles(least(rows, block_rows), tile_rows) * most_inner;
  Packed memory(block_size + whole_tiles(columns, tile_columns) * most_inner);
  double* const block = memory.get();
  double* const panel = block + block_size;
  for (int l0 = 0; l0 < inner; l0 += block_inner) {
    const int l_count = least(block_inner, inner - l0);
    pack<tile_columns>(b.first + l0 * b.down, b.across, b.down, columns, l_count, panel);
    for (int i0 = 0; i0 < rows; i0 += block_rows) {
      const int i_count = least(block_rows, rows - i0);
      pack<tile_rows>(a.first + i0 * a.down + l0 * a.across, a.down, a.across, i_count, l_count, block);
      for (int j = 0; j < columns; j += tile_columns) {
        for (int i = 0; i < i_count; i += tile_rows)
          add_tile_of<packets_of_tile>({block + std::ptrdiff_t{i} * l_count,
                                        panel + std::ptrdiff_t{j} * l_count, l_count, scale,
                                        to + j * stride + i0 + i, stride, least(tile_rows, i_count - i),
                                        least(tile_columns, columns - j)});
      }
    }
  }
}

template <int width>
void DenseKernels<width>::add_columns(double scale, const double* a, std::ptrdiff_t stride, int rows,
                                      int columns, const double* x, double* to) {
  int j = 0;
  for (; j + 4 <= columns; j += 4) {
    const double* const first = a + j * stride;
    const double factors[] = {scale * x[j], scale * x[j + 1], scale * x[j + 2], scale * x[j + 3]};
    for (int i = 0; i < rows; ++i)
      to[i] = (((to[i] + factors[0] * first[i]) + factors[1] * first[stride + i]) +
               factors[2] * first[2 * stride + i]) +
              factors[3] * first[3 * stride + i];
  }
  for (; j < columns; ++j) {
    const double factor = scale * x[j];
    for (int i = 0; i < rows; ++i) to[i] += factor * a[j * stride + i];
  }
}

template <int width>
void DenseKernels<width>::multiply_columns(const double* a, std::ptrdiff_t stride, int rows, int columns,
                                           const double* x, double* to) {
  const int whole = rows / lanes * lanes;
  int j = 0;
  for (; j + 4 <= columns; j += 4) {
    const double* const first = a + j * stride;
    LaneSums sums[4];
    for (int i = 0; i < whole; i += lanes) {
      for (int k = 0; k < 4; ++k) sums[k].add(first + k * stride + i, x + i);
    }
    for (int k = 0; k < 4; ++k)
      to[j + k] = sums[k].total(first + k * stride + whole, x + whole, rows - whole);
  }
  for (; j < columns; ++j) {
    const double* const column = a + j * stride;
    LaneSums sums;
    for (int i = 0; i < whole; i += lanes) sums.add(column + i, x + i);
    to[j] = sums.total(column + whole, x + whole, rows - whole);
  }
}

template <int width>
bool DenseKernels<width>::factor(double* a, std::ptrdiff_t stride, int n) {
  for (int j = 0; j < n; ++j) {
    double* const column = a + j * stride;
    if (!(column[j] > 0)) return false;
    column[j] = __builtin_sqrt(column[j]);
    for (int i = j + 1; i < n; ++i) column[i] /= column[j];
    for (int l = j + 1; l < n; ++l) {
      double* const later = a + l * stride;
      const double factor = column[l];
      for (int i = l; i < n; ++i) later[i] -= factor * column[i];
    }
  }
  return true;
}

template <int width>
void DenseKernels<width>::solve_right(const double* lower, std::ptrdiff_t stride, int n, double* x,
                                      std::ptrdiff_t x_stride, int rows) {
  for (int j = 0; j < n; ++j) {
    double* const column = x + j * x_stride;
    for (int l = 0; l < j; ++l) {
      const double* const before = x + l * x_stride;
      const double factor = lower[l * stride + j];
      for (int i = 0; i < rows; ++i) column[i] -= factor * before[i];
    }
    const double own = lower[j * stride + j];
    for (int i = 0; i < rows; ++i) column[i] /= own;
  }
}

template <int width>
void DenseKernels<width>::solve_left(const double* lower, std::ptrdiff_t stride, int n, bool transposed,
                                     double* x, std::ptrdiff_t x_stride, int columns) {
  // Row-major copy of columns of X, so that the inner loops access adjacent elements.
  constexpr int most = 64;
  double row[small_rows][most];
  for (int first = 0; first < columns; first += most) {
    const int count = least(most, columns - first);
    double* const own = x + first * x_stride;
    for (int j = 0; j < count; ++j) {
      for (int i = 0; i < n; ++i) row[i][j] = own[j * x_stride + i];
    }
    const auto eliminate = [&](int from, int to, double factor) {
      for (int j = 0; j < count; ++j) row[to][j] -= factor * row[from][j];
    };
    for (int step = 0; step < n; ++step) {
      const int i = transposed ? n - 1 - step : step;
      for (int j = 0; j < count; ++j) row[i][j] /= lower[i * stride + i];
      if (transposed) {
        for (int l = 0; l < i; ++l) eliminate(i, l, lower[l * stride + i]);
      } else {
        for (int l = i + 1; l < n; ++l) eliminate(i, l, lower[i * stride + l]);
      }
    }
    for (int j = 0; j < count; ++j) {
      for (int i = 0; i < n; ++i) own[j * x_stride + i] = row[i][j];
    }
  }
}

template struct DenseKernels<TESSERA_PACKET>;

}  // namespace TESSERA_NAMESPACE::gam
