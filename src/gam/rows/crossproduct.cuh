// SPDX-License-Identifier: Apache-2.0
// Products of splines on tensor cores, without writing the model matrix to memory.
//
// A block processes a slice in chunks, whose rows it keeps in shared memory: for each spline the four values
// times the square root of the weight. The value of column c is at index c % 4; the lowest bits of its
// mantissa hold the index of its quad, c / 4.
//
// A warp has one term, the centre. It keeps sums in registers, separately for each window of the centre, and
// processes the rows window by window, four rows at once. The centre's 8 columns are operand B (k = row, n =
// column). Columns of two other terms are operand A (m = column, k = row), with one tile for four quads;
// values of other quads are masked. Per term in a tile, a row makes 4 x 4 nonzero products.
//
// Pipelining: chunk i is multiplied while chunk i + 1 is evaluated and sorted, and chunk i + 2 is copied. The
// order of additions depends only on the slice's rows.
//
// kernel_source.cpp writes `rows_constants.hpp`: `fixed::tiling`, `fixed::rows` of a chunk, and
// `fixed::alike` (see `CrossPlan::cubics`).
#include "gam/rows/crossproduct.hpp"
#include "gam/rows/terms.cuh"
#include "rows_constants.hpp"

#include <cstdint>

// The devices of `CrossPlan::runs_on`. The module is empty for other devices.
#if __CUDA_ARCH__ / 100 == 9 || __CUDA_ARCH__ / 100 == 10
namespace TESSERA_NAMESPACE::gam {

constexpr unsigned whole_warp = 0xffffffff;
constexpr int warp_threads = 32;
/// A run has one row for each lane of a warp.
constexpr int runs_of_chunk = fixed::rows / warp_threads;
/// Bytes between the rows of a term's values.
constexpr int cross_row_stride = quad_columns * sizeof(double);
/// Bits of a value's low word that hold the index of its quad.
constexpr int quad_mask = 7;
static_assert(cross_quads_limit <= quad_mask);

/// A lane's part of its warp's tiles, by window: rows lane / 4 and lane / 4 + 8, columns 2 (lane % 4) and 2
/// (lane % 4) + 1.
using Sums = double[fixed::tiling.windows][fixed::tiling.tiles][4];
/// A warp's tiles in shared memory.
using CrossTiles = double[fixed::tiling.windows][fixed::tiling.tiles][16][8];

/// A block's shared memory for two chunks. Row `fixed::rows` is zero: padding in an order refers to it.
class CrossShared {
 public:
  CrossShared(char* memory, const CrossShape& shape) : memory_(memory), shape_(shape) {}

  /// The four values of each row of a term.
  [[nodiscard]] double* values(int buffer, int term) const {
    return numbers(((buffer * shape_.terms + term) * (fixed::rows + 1)) * quad_columns);
  }
  [[nodiscard]] double* dense(int buffer) const {
    return numbers((2 * shape_.terms * quad_columns + buffer * cross_dense_columns) * (fixed::rows + 1));
  }
  /// Input column of a chunk: the terms' variables, then the root of the weight, then the residual.
  [[nodiscard]] double* staged(int buffer, int column) const {
    return numbers(2 * (shape_.terms * quad_columns + cross_dense_columns) * (fixed::rows + 1) +
                   (buffer * (shape_.terms + 2) + column) * fixed::rows);
  }
  [[nodiscard]] double* tables() const { return staged(2, 0); }
  /// A term's margin; its offsets are indices into `tables`.
  [[nodiscard]] MarginTable& margin(int term) const {
    return reinterpret_cast<MarginTable*>(tables() + shape_.tables)[term];
  }
  /// Rows sorted by window, as byte offsets.
  [[nodiscard]] std::uint16_t* order(int buffer, int term) const {
    const int begin = static_cast<int>(reinterpret_cast<char*>(&margin(shape_.terms)) - memory_);
    return reinterpret_cast<std::uint16_t*>(memory_ + (begin + 15) / 16 * 16) +
           (buffer * shape_.terms + term) * cross_order_length(fixed::rows, fixed::tiling.windows);
  }
  /// Begin of each window in `order`, and the end, in units of four rows.
  [[nodiscard]] int* start(int buffer, int term) const {
    return reinterpret_cast<int*>(order(2, 0)) + (buffer * shape_.terms + term) * (fixed::tiling.windows + 1);
  }
  [[nodiscard]] int& windows(int term) const { return start(2, 0)[term]; }

 private:
  [[nodiscard]] double* numbers(int begin) const { return reinterpret_cast<double*>(memory_) + begin; }

  char* memory_;
  const CrossShape& shape_;
};

/// c += a b, where a is 16 x 4 and b is 4 x 8.
inline void multiply_tile(double (&c)[4], double a0, double a1, double b) {
  asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a0), "d"(a1), "d"(b));
}

/// The value if it belongs to the quad, else below 1e-313: clearing only the high word saves a select.
inline double masked(double value, int quad, int wanted) {
  const int high = quad == wanted ? __double2hiint(value) : 0;
  return __hiloint2double(high, __double2loint(value));
}

inline int quad_of(double value) {
  return __double2loint(value) & quad_mask;
}

inline double with_quad(double value, int quad) {
  return __hiloint2double(__double2hiint(value), (__double2loint(value) & ~quad_mask) | quad);
}

/// One block: the tasks of one group for one slice.
class CrossBlock {
 public:
  CrossBlock(char* memory, const SliceBatchView& batch, const CrossView& cross)
      : shared_(memory, cross.shape),
        batch_(batch),
        cross_(cross),
        group_(cross.groups[blockIdx.x]),
        terms_(cross.terms + group_.term_begin),
        slice_(slice_of(batch, static_cast<int>(blockIdx.y))),
        kept_(static_cast<std::int64_t>(blockIdx.y) * batch.slice_rows),
        // The shuffle tells the compiler that warp_ is uniform.
        warp_(static_cast<int>(__shfl_sync(whole_warp, threadIdx.x / warp_threads, 0))),
        lane_(static_cast<int>(threadIdx.x % warp_threads)) {}

  void prepare();
  /// Starts copying the input columns of the chunk at row `first`.
  void fetch(int buffer, int first) const;
  /// Computes values, dense columns and orders from the input columns.
  void evaluate_chunk(int buffer, int first);
  void multiply(int buffer, const CrossTask& task, Sums& sums) const;
  void keep(const Sums& sums, CrossTiles& tiles) const;
  /// Writes the tiles to the slice's sums.
  void write(const CrossTask& task, const CrossTiles& tiles) const;

  [[nodiscard]] int rows() const { return slice_.rows; }
  [[nodiscard]] int warp() const { return warp_; }
  [[nodiscard]] int task() const { return group_.task_begin + warp_; }

 private:
  /// Packed windows of a lane's rows, one row per run.
  using Windows = unsigned;
  static constexpr int window_bits = 3;
  static_assert(window_bits * runs_of_chunk <= 32 && fixed::tiling.windows <= 1 << window_bits);
  struct Four {
    double values[4];
    unsigned first;  ///< column of the first value
  };

  [[nodiscard]] MarginTable margin_of(int term) const;
  [[nodiscard]] Four four_of(const MarginTable& margin, double x, double root) const;
  void evaluate_term(int buffer, int term) const;
  void evaluate_dense(int buffer, int first) const;
  void sort(int buffer, int term, Windows windows) const;

  template <bool with_leaves, bool with_own, bool with_dense>
  void multiply_as(int buffer, const CrossTask& task, Sums& sums) const;
  template <class At>
  [[nodiscard]] static double of_both_windows(int quad, const At& at);
  [[nodiscard]] static double sum_of(const CrossTiles& tiles, int half, int row, int column);
  [[nodiscard]] static double own_sum(const CrossTiles& tiles, int half, int p, int q);

  CrossShared shared_;
  const SliceBatchView& batch_;
  const CrossView& cross_;
  CrossGroup group_;
  const CrossTerm* terms_;
  Slice slice_;
  std::int64_t kept_;  // index of the slice's first row in the batch's arrays
  int warp_;
  int lane_;
};

inline void CrossBlock::prepare() {
  const auto thread = static_cast<int>(threadIdx.x);
  const auto threads = static_cast<int>(blockDim.x);
  const int terms = cross_.shape.terms;
  for (int i = thread; i < 2 * terms * quad_columns; i += threads) {
    const int term = i / quad_columns % terms;
    shared_.values(i / quad_columns / terms, term)[fixed::rows * quad_columns + i % quad_columns] = 0;
  }
  for (int i = thread; i < 2 * (fixed::rows + 1) * cross_dense_columns; i += threads) shared_.dense(0)[i] = 0;
  const double* numbers = batch_.layout.numbers;
  std::int64_t next = 0;
  for (int t = 0; t < group_.term_count; ++t) {
    const MarginTable& from = batch_.layout.components[terms_[t].component].margin;
    MarginTable to = from;
    const int slots = from.cells + 2;
    const auto copy = [&](std::int64_t& offset, int count) {
      for (int i = thread; i < count; i += threads) shared_.tables()[next + i] = numbers[offset + i];
      offset = next;
      next += (from.cells + 3) / 2 * 2;
    };
    copy(to.origins, slots);
    copy(to.inverse_widths, slots);
    if (!from.uniform) copy(to.breaks, from.cells + 1);
    // Ordered by power, pair of the four values, then slot: lanes with different slots read different banks.
    const int kept = cross_cubic_slots(from);
    for (int i = thread; i < 16 * kept; i += threads) {
      const int slot = i / 2 % kept;
      const int whole = from.alike && slot == 2 ? slots - 1 : slot;
      shared_.tables()[next + i] = numbers[from.cubics + 16 * whole + i / (2 * kept) * 2 + i % 2];
    }
    to.cubics = next;
    next += 16 * kept;
    if (thread == 0) {
      shared_.margin(t) = to;
      shared_.windows(t) = terms_[t].windows;
    }
  }
}

inline void CrossBlock::fetch(int buffer, int first) const {
  for (int column = warp_; column < group_.term_count + 2; column += cross_.shape.warps) {
    const double* from = nullptr;
    int to = column;
    if (column < group_.term_count) {
      from =
          batch_.columns.numbers[batch_.layout.components[terms_[column].component].variable] + slice_.begin;
    } else {
      const bool weights = column == group_.term_count;
      const std::int64_t residual = cross_.dense_begins[cross_.dense_count - 1];
      from = (weights ? batch_.roots : batch_.values + residual * batch_.capacity) + kept_;
      to = cross_.shape.terms + (weights ? 0 : 1);
    }
    const auto place = static_cast<unsigned>(__cvta_generic_to_shared(shared_.staged(buffer, to) + lane_));
#pragma unroll
    for (int i = 0; i < fixed::rows; i += warp_threads) {
      // Rows beyond the end of the slice are filled with zeros.
      const int row = first + i + lane_;
      const bool there = row < slice_.rows;
      asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(
                       static_cast<unsigned>(place + i * sizeof(double))),
                   "l"(from + (there ? row : 0)), "r"(there ? 8 : 0)
                   : "memory");
    }
  }
  asm volatile("cp.async.commit_group;" ::: "memory");
}

inline MarginTable CrossBlock::margin_of(int term) const {
  MarginTable margin = shared_.margin(term);
  if constexpr (fixed::alike) {
    // Constants remove branches of `locate`.
    margin.uniform = true;
    margin.cyclic = false;
    margin.alike = true;
  }
  return margin;
}

inline CrossBlock::Four CrossBlock::four_of(const MarginTable& margin, double x, double root) const {
  // x may be NaN in a row without weight.
  const Located at = locate(margin, shared_.tables(), root != 0 ? x : margin.begin);
  Four four;
  four.first = static_cast<unsigned>(at.first);
  const auto keep = [&](unsigned a, double value) {
    four.values[a] = with_quad(value * root, static_cast<int>((four.first + a) / quad_columns));
  };
  if (fixed::alike && at.slot > 0 && at.slot <= margin.cells) {
#pragma unroll
    for (unsigned a = 0; a < 4; ++a) {
      const double* c = cross_.cubics + a;
      keep(a, cubic(c[0], c[4], c[8], c[12], at.t));
    }
    return four;
  }
  const int slots = cross_cubic_slots(margin);
  int slot = at.slot;
  if (margin.alike) slot = slot == 0 ? 0 : slot > margin.cells ? 2 : 1;
  const double2* cubics = reinterpret_cast<const double2*>(shared_.tables() + margin.cubics) + slot;
  double2 powers[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) powers[i] = cubics[i * slots];
#pragma unroll
  for (unsigned a = 0; a < 4; ++a) {
    const auto of = [&](unsigned power) {
      return a % 2 ? powers[2 * power + a / 2].y : powers[2 * power + a / 2].x;
    };
    keep(a, cubic(of(0), of(1), of(2), of(3), at.t));
  }
  return four;
}

inline void CrossBlock::evaluate_chunk(int buffer, int first) {
  for (int term = warp_; term < group_.term_count; term += cross_.shape.warps) evaluate_term(buffer, term);
  evaluate_dense(buffer, first);
}

inline void CrossBlock::evaluate_term(int buffer, int term) const {
  const MarginTable margin = margin_of(term);
  const unsigned last = shared_.windows(term) - 1;
  const double* x = shared_.staged(buffer, term) + lane_;
  const double* roots = shared_.staged(buffer, cross_.shape.terms) + lane_;
  double* values = shared_.values(buffer, term) + lane_ * quad_columns;
  Windows windows = 0;
  constexpr int at_once = 2;  // rows in flight, to hide latency
  static_assert(cross_rows_step % (at_once * warp_threads) == 0);
#pragma unroll 1
  for (int run = 0; run < runs_of_chunk; run += at_once) {
    Four fours[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const int row = (run + i) * warp_threads;
      fours[i] = four_of(margin, x[row], roots[row]);
    }
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      double* to = values + (run + i) * warp_threads * quad_columns;
#pragma unroll
      for (unsigned a = 0; a < 4; ++a) to[(fours[i].first + a) % quad_columns] = fours[i].values[a];
      const unsigned quad = fours[i].first / quad_columns;
      windows |= static_cast<Windows>(quad < last ? quad : last) << window_bits * (run + i);
    }
  }
  if (terms_[term].centre) sort(buffer, term, windows);
}

inline void CrossBlock::evaluate_dense(int buffer, int first) const {
  const int residual = cross_.dense_count - 1;
  for (int run = warp_; run < runs_of_chunk; run += cross_.shape.warps) {
    const int row = run * warp_threads + lane_;
    const double root = shared_.staged(buffer, cross_.shape.terms)[row];
    double* to = shared_.dense(buffer) + row * cross_dense_columns;
    for (int column = 0; column < residual; ++column) {
      const std::int64_t begin = cross_.dense_begins[column];
      // Values of a row without weight may be NaN, or beyond the slice.
      double value = root;
      if (begin >= 0 && root != 0) value *= batch_.values[begin * batch_.capacity + kept_ + first + row];
      to[column] = value;
    }
    to[residual] = root * shared_.staged(buffer, cross_.shape.terms + 1)[row];
  }
}

/// Counting sort of the chunk's rows by window; within a window by lane, then by row.
inline void CrossBlock::sort(int buffer, int term, Windows windows) const {
  using Counts = std::uint64_t;  // 8 bits per window
  static_assert(fixed::tiling.windows <= 8 && cross_rows_limit < 256);
  const auto shift_of = [&](int run) {
    return static_cast<int>(windows >> window_bits * run & ((1u << window_bits) - 1)) * 8;
  };
  Counts own = 0;
#pragma unroll
  for (int i = 0; i < runs_of_chunk; ++i) own += Counts{1} << shift_of(i);
  Counts up_to = own;
#pragma unroll
  for (int distance = 1; distance < warp_threads; distance *= 2) {
    const Counts before = __shfl_up_sync(whole_warp, up_to, distance);
    if (lane_ >= distance) up_to += before;
  }
  const Counts total = __shfl_sync(whole_warp, up_to, warp_threads - 1);
  Counts rank = up_to - own;

  constexpr std::uint16_t no_row = fixed::rows * cross_row_stride;
  std::uint16_t* order = shared_.order(buffer, term);
  int* start = shared_.start(buffer, term);
  int begin[fixed::tiling.windows];
  int fours = 0;
#pragma unroll
  for (int w = 0; w < fixed::tiling.windows; ++w) {
    begin[w] = 4 * fours;
    if (lane_ == 0) start[w] = fours;
    const int count = static_cast<int>(total >> 8 * w & 255);
    const int more = (count + 3) / 4;
    if (lane_ < 4 * more - count) order[begin[w] + count + lane_] = no_row;
    fours += more;
  }
  if (lane_ == 0) start[fixed::tiling.windows] = fours;
  if (lane_ < 16) order[4 * fours + lane_] = no_row;
#pragma unroll
  for (int i = 0; i < runs_of_chunk; ++i) {
    const int shift = shift_of(i);
    int at = begin[0];
#pragma unroll
    for (int w = 1; w < fixed::tiling.windows; ++w) at = shift == 8 * w ? begin[w] : at;
    order[at + static_cast<int>(rank >> shift & 255)] =
        static_cast<std::uint16_t>((i * warp_threads + lane_) * cross_row_stride);
    rank += Counts{1} << shift;
  }
}

template <bool with_leaves, bool with_own, bool with_dense>
void CrossBlock::multiply_as(int buffer, const CrossTask& task, Sums& sums) const {
  constexpr int pair_halves = with_leaves ? fixed::tiling.halves : 0;
  constexpr int halves = pair_halves + with_own + with_dense;
  constexpr int tiles = (halves + 1) / 2;
  const int k = lane_ % 4;
  const int n = lane_ / 4;
  const int side = n / 4;
  const char* lanes = reinterpret_cast<const char*>(shared_.values(buffer, 0)) + n % 4 * sizeof(double);
  constexpr int term_stride = (fixed::rows + 1) * cross_row_stride;
  const int centre = task.centre * term_stride;
  const int leaf = task.leaves[side] * term_stride;
  const int columns = static_cast<int>(reinterpret_cast<const char*>(shared_.dense(buffer)) -
                                       reinterpret_cast<const char*>(shared_.values(buffer, 0)));
  const int first_quad = task.first_quad[side];
  struct Row {
    double centre, leaf, dense;
  };
  const auto load = [&](int offset) {
    const auto at = [&](int which) { return *reinterpret_cast<const double*>(lanes + offset + which); };
    return Row{at(centre), with_leaves ? at(leaf) : 0.0, with_dense ? at(columns) : 0.0};
  };
  const std::uint16_t* order = shared_.order(buffer, task.centre) + k;
  const int* start = shared_.start(buffer, task.centre);
  // Software pipeline: loads run one step ahead of products, and the order two steps ahead.
  Row next = load(order[0]);
  int offset = order[4];
  const std::uint16_t* at = order + 8;
#pragma unroll
  for (int w = 0; w < fixed::tiling.windows; ++w) {
    const std::uint16_t* end = order + 8 + __shfl_sync(whole_warp, start[w + 1], 0) * 4;
#pragma unroll 2
    for (; at < end; at += 4) {
      const Row row = next;
      next = load(offset);
      offset = *at;
      const double b = masked(row.centre, quad_of(row.centre), w + side);
      const int quad = quad_of(row.leaf) - first_quad;
      double half[2 * tiles];
#pragma unroll
      for (int h = 0; h < pair_halves; ++h) half[h] = masked(row.leaf, quad, h);
      if constexpr (with_own) half[pair_halves] = b;
      if constexpr (with_dense) half[pair_halves + with_own] = row.dense;
      if constexpr (halves % 2 != 0) half[halves] = half[0];  // padding; these sums are not used
#pragma unroll
      for (int t = 0; t < tiles; ++t) multiply_tile(sums[w][t], half[2 * t], half[2 * t + 1], b);
    }
  }
}

inline void CrossBlock::multiply(int buffer, const CrossTask& task, Sums& sums) const {
  using Kind = CrossTask::Kind;
  switch (task.kind) {
    case Kind::pair: return multiply_as<true, false, false>(buffer, task, sums);
    case Kind::pair_own: return multiply_as<true, true, false>(buffer, task, sums);
    case Kind::pair_dense: return multiply_as<true, false, true>(buffer, task, sums);
    case Kind::own_dense: return multiply_as<false, true, true>(buffer, task, sums);
    case Kind::dense: return multiply_as<false, false, true>(buffer, task, sums);
    case Kind::none: return;
  }
}

inline void CrossBlock::keep(const Sums& sums, CrossTiles& tiles) const {
  const int row = lane_ / 4;
  const int column = lane_ % 4 * 2;
#pragma unroll
  for (int w = 0; w < fixed::tiling.windows; ++w) {
#pragma unroll
    for (int t = 0; t < fixed::tiling.tiles; ++t) {
#pragma unroll
      for (int i = 0; i < 4; ++i) tiles[w][t][row + i / 2 * 8][column + i % 2] = sums[w][t][i];
    }
  }
  __syncwarp();
}

/// Adds a quad's sums from both of its windows: the quad is first in window `quad`, second in the one before.
template <class At>
double CrossBlock::of_both_windows(int quad, const At& at) {
  return (quad < fixed::tiling.windows ? at(quad, 0) : 0) + (quad > 0 ? at(quad - 1, quad_columns) : 0);
}

/// Sum of products with a column of the centre.
inline double CrossBlock::sum_of(const CrossTiles& tiles, int half, int row, int column) {
  return of_both_windows(column / quad_columns, [&](int window, int begin) {
    return tiles[window][half / 2][half % 2 * 8 + row][begin + column % quad_columns];
  });
}

/// Sum of products of the centre's columns p and q >= p.
inline double CrossBlock::own_sum(const CrossTiles& tiles, int half, int p, int q) {
  const auto at = [&](int window, int p_begin, int q_begin) {
    return tiles[window][half / 2][half % 2 * 8 + p_begin + p % quad_columns][q_begin + q % quad_columns];
  };
  const int quad = p / quad_columns;
  if (q / quad_columns != quad) return at(quad, 0, quad_columns);
  return of_both_windows(quad, [&](int window, int begin) { return at(window, begin, begin); });
}

inline void CrossBlock::write(const CrossTask& task, const CrossTiles& tiles) const {
  double* partial = batch_.partials + static_cast<std::int64_t>(blockIdx.y) * batch_.width;
  const int columns = terms_[task.centre].columns;
  for (int side = 0; task.has_leaves() && side < 2; ++side) {
    const CrossSums& to = task.pairs[side];
    const int first = task.first_quad[side] * quad_columns;
    int width = task.end_quad[side] * quad_columns;
    if (width > terms_[task.leaves[side]].columns) width = terms_[task.leaves[side]].columns;
    width -= first;
    for (int i = lane_; i < columns * width; i += warp_threads) {
      const int column = i / width;
      const int other = i % width;
      partial[to.begin + column * to.centre_step + (first + other) * to.other_step] =
          sum_of(tiles, other / quad_columns, side * quad_columns + other % quad_columns, column);
    }
  }
  const int next = task.has_leaves() ? fixed::tiling.halves : 0;
  if (task.has_own()) {
    constexpr int farthest = 3;  // maximum distance of nonzeros in a row
    for (int i = lane_; i < columns * task.own.centre_step; i += warp_threads) {
      const int p = i / task.own.centre_step;
      const int q = p + i % task.own.centre_step - farthest;
      partial[task.own.begin + i - farthest] = q >= p && q < columns ? own_sum(tiles, next, p, q) : 0;
    }
  }
  if (task.has_dense()) {
    const int half = next + (task.has_own() ? 1 : 0);
    for (int i = lane_; i < columns * cross_dense_columns; i += warp_threads) {
      const CrossSums& to = task.dense[i % cross_dense_columns];
      const int column = i / cross_dense_columns;
      if (to.begin >= 0)
        partial[to.begin + column * to.centre_step] = sum_of(tiles, half, i % cross_dense_columns, column);
    }
  }
}

inline void wait_for_fetched() {
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
}

/// blockIdx: group of tasks, slice. One warp per task. Dynamic shared memory: `cross_shared_bytes`.
extern "C" __global__ void __launch_bounds__(cross_warps_limit* warp_threads)
    form_crossproduct(SliceBatchView batch, CrossView cross) {
  extern __shared__ __align__(16) char memory[];
  CrossBlock block(memory, batch, cross);
  const CrossTask task = cross.tasks[block.task()];
  Sums sums = {};
  constexpr int rows = fixed::rows;
  block.prepare();
  block.fetch(0, 0);
  int buffer = 1;
  for (int first = -rows; first < block.rows(); first += rows) {
    wait_for_fetched();
    block.fetch(buffer, first + 2 * rows);
    if (first + rows < block.rows()) block.evaluate_chunk(buffer ^ 1, first + rows);
    if (first >= 0) block.multiply(buffer, task, sums);
    buffer ^= 1;
  }
  // Copies of zeros from beyond the slice must not arrive later: tiles overwrite this memory.
  wait_for_fetched();
  CrossTiles& tiles = reinterpret_cast<CrossTiles*>(memory)[block.warp()];
  block.keep(sums, tiles);
  block.write(task, tiles);
}

}  // namespace TESSERA_NAMESPACE::gam
#endif
