// SPDX-License-Identifier: Apache-2.0
#include "gam/fit/coordinates/block_sketch.hpp"

#include "base/at.hpp"
#include "gam/family/gaussian.hpp"
#include "gam/rows/row_sketch.hpp"

#include <cmath>
#include <cstddef>
#include <vector>

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;

Design part_of(const Design& design, std::span<const int> blocks) {
  Design part = design;
  part.blocks.clear();
  for (const int block : blocks) part.blocks.push_back(design.blocks[at(block)]);
  part.count_coefficients();
  return part;
}

Design without_other_terms(const Design& design) {
  Design out = design;
  out.terms.clear();
  out.raw_size = 0;
  out.parted_columns = {};
  for (const RawTerm& term : design.terms) {
    int begin = -1;  // the term's first raw column in `out`
    for (std::size_t i = 0; i < design.blocks.size(); ++i) {
      const int in_term = design.blocks[i].raw_begin - term.raw_begin;
      if (in_term < 0 || in_term >= term.raw_size) continue;
      if (begin < 0) begin = out.add_term(term.components);
      out.blocks[i].raw_begin = begin + in_term;
    }
  }
  return out;
}

}  // namespace

Rows unweighted(Rows rows) {
  rows.family = Gaussian{};
  rows.prior_weight = -1;
  rows.prior_factor = 1;
  rows.offsets.clear();
  rows.further_offsets.clear();
  rows.series = {};
  return rows;
}

PartedMatrix unweighted_gram(Job& job, const Plan& plan, const Rows& rows) {
  RowPass pass(job, plan, unweighted(rows));
  return pass.step(std::vector<double>(at(rows.design->raw_size))).gram;
}

BlockSketch sketch_of_blocks(Job& job, const Frame& frame, const Design& design, std::span<const int> blocks,
                             const PartedMatrix& raw_gram) {
  BlockSketch out{part_of(design, blocks), {}, {}};
  out.compact = without_other_terms(out.part);
  std::vector<double> norms(at(out.compact.raw_size));
  for (std::size_t i = 0; i < out.part.blocks.size(); ++i) {
    const CoefBlock& from = out.part.blocks[i];
    for (int j = 0; j < from.raw_size; ++j) {
      norms[at(out.compact.blocks[i].raw_begin + j)] =
          std::sqrt(raw_gram(from.raw_begin + j, from.raw_begin + j));
    }
  }
  out.raw = row_sketch(job, frame, out.compact, norms, sketch_rows(out.compact.coef_size));
  return out;
}

}  // namespace TESSERA_NAMESPACE::gam
