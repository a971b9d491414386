// SPDX-License-Identifier: Apache-2.0
#include "mpi/communicator_access.hpp"

#include <tessera/error.hpp>
#include <tessera/job/reproducible_sum.hpp>

#include <algorithm>
#include <bit>
#include <string>

namespace TESSERA_NAMESPACE {
namespace {

void check_size(const char* what, std::size_t size, std::size_t expected) {
  if (size != expected)
    throw Error(ErrorCode::usage, std::string(what) + " has " + std::to_string(size) +
                                      " elements, but this sum needs " + std::to_string(expected));
}

/// `add_to` for the host, where indexing is cheaper than a switch over four cases.
void add_on_host(SumElement& sum, double x) {
  const SumSlices slices = slices_of(x);
  const std::int32_t below = sum.top - slices.top;
  if (below < 0 || below > 1) return add_to(sum, x);  // rare
  std::int64_t* bin = sum.bins + below;
  bin[0] += slices.high;
  bin[1] += slices.middle;
  bin[2] += slices.low;
}

/// Elements per test for zeros.
constexpr std::size_t run_of_zeros = 8;

bool all_zero(std::span<const double> run) {
  std::uint64_t bits = 0;
  for (const double x : run) bits |= std::bit_cast<std::uint64_t>(x);
  return bits << 1 == 0;  // +0 or -0
}

}  // namespace

void ReproducibleSum::require_width(std::size_t width) {
  if (width > std::vector<SumElement>().max_size())
    throw Error(ErrorCode::usage, "a reproducible sum of " + std::to_string(width) +
                                      " numbers needs more memory than can be addressed: sum fewer numbers");
}

ReproducibleSum::ReproducibleSum(std::size_t width) {
  require_width(width);
  elements_.resize(width);
}

/// Adds `more` to the count of summands. Throws `Error(usage)` above 2^30, where a bin could overflow.
void ReproducibleSum::count_in(std::int64_t more) {
  if (more < 0 || more > max_summands - count_)
    throw Error(ErrorCode::usage, "a reproducible sum takes at most 2^30 vectors, not " +
                                      std::to_string(count_) + " and " + std::to_string(more) +
                                      " more: use larger blocks");
  count_ += more;
}

void ReproducibleSum::add(std::span<const double> summand) {
  check_size("the summand", summand.size(), width());
  count_in(1);
  for (std::size_t i = 0; i < summand.size(); ++i) add_on_host(elements_[i], summand[i]);
}

void ReproducibleSum::take(std::span<double> summand) {
  check_size("the summand", summand.size(), width());
  count_in(1);
  for (std::size_t begin = 0; begin < summand.size(); begin += run_of_zeros) {
    const auto run = summand.subspan(begin, std::min(run_of_zeros, summand.size() - begin));
    if (all_zero(run)) continue;
    for (std::size_t i = 0; i < run.size(); ++i) {
      if (run[i] != 0) add_on_host(elements_[begin + i], run[i]);
      run[i] = 0;
    }
  }
}

void ReproducibleSum::merge(const ReproducibleSum& other) {
  check_size("the other sum", other.width(), width());
  count_in(other.count_);
  for (std::size_t i = 0; i < width(); ++i) merge_into(elements_[i], other.elements_[i]);
}

void ReproducibleSum::merge(std::span<const std::int32_t> tops, std::span<const std::int64_t> bins,
                            std::int64_t count) {
  check_size("the array of tops", tops.size(), width());
  check_size("the array of bins", bins.size(), width() * bin_count);
  count_in(count);
  for (std::size_t i = 0; i < width(); ++i) {
    SumElement other{.top = tops[i]};
    for (std::size_t b = 0; b < bin_count; ++b) other.bins[b] = bins[b * width() + i];
    merge_into(elements_[i], other);
  }
}

void ReproducibleSum::prepare_allreduce() {
  tops_.resize(width());
  bins_.resize(width() * bin_count);
}

void ReproducibleSum::allreduce(const mpi::Communicator& comm) {
  if (comm.size() == 1 && !mpi::detail::CommunicatorAccess::is_empty(comm)) return;
  prepare_allreduce();
  const std::int64_t others = comm.allreduce(count_, mpi::Reduction::sum) - count_;
  count_in(others);

  // Aligns each element's window to the highest of all ranks, so that equal bin indices have equal exponents.
  std::transform(elements_.begin(), elements_.end(), tops_.begin(),
                 [](auto& element) { return element.top; });
  comm.allreduce(std::span(tops_), mpi::Reduction::max);
  for (std::size_t i = 0; i < width(); ++i) {
    raise_to(elements_[i], tops_[i]);
    std::copy_n(elements_[i].bins, bin_count, bins_.begin() + static_cast<std::ptrdiff_t>(i * bin_count));
  }
  comm.allreduce(std::span(bins_), mpi::Reduction::sum);
  for (std::size_t i = 0; i < width(); ++i)
    std::copy_n(bins_.begin() + static_cast<std::ptrdiff_t>(i * bin_count), bin_count, elements_[i].bins);
  tops_ = {};
  bins_ = {};
}

std::vector<double> ReproducibleSum::values() const {
  std::vector<double> sums(width());
  std::transform(elements_.begin(), elements_.end(), sums.begin(), rounded);
  return sums;
}

}  // namespace TESSERA_NAMESPACE
