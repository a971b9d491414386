// SPDX-License-Identifier: Apache-2.0
#include "gam/design/parametric_penalties.hpp"

#include "base/at.hpp"
#include "base/errors.hpp"
#include "gam/design/general_penalty.hpp"
#include "gam/linalg/linalg.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include "files/json_file.hpp"

namespace TESSERA_NAMESPACE::gam {
namespace {

using base::at;
using files::JsonField;

Matrix matrix_of_rows(const JsonField& field) {
  const std::vector<JsonField> rows = field.elements();
  if (rows.empty()) field.refuse("has no rows");
  Matrix matrix(static_cast<int>(rows.size()), static_cast<int>(rows.front().size()));
  for (int i = 0; i < matrix.rows(); ++i) {
    const std::vector<double> row = rows[at(i)].numbers(at(matrix.cols()));
    for (int j = 0; j < matrix.cols(); ++j) matrix(i, j) = row[at(j)];
  }
  return matrix;
}

}  // namespace

ParametricPenalties parametric_penalties(const std::string& text_or_file) {
  const auto file =
      files::JsonFile::text_or_file(text_or_file, "para-pen", "matrices of penalties by term", "correct it");
  ParametricPenalties out;
  for (const auto& [term, field] : file.root().members()) {
    ParametricPenalty& penalty = out[term];
    for (const auto& [name, value] : field.members()) {
      if (name == "S") {
        for (const JsonField& matrix : value.elements()) penalty.matrices.push_back(matrix_of_rows(matrix));
      } else if (name == "rank") {
        for (const JsonField& rank : value.elements()) penalty.ranks.push_back(rank.whole(1));
      } else if (name == "sp") {
        penalty.sp = value.numbers();
      } else {
        value.refuse("is not a member of a penalty: give S, rank or sp");
      }
    }
    if (penalty.matrices.empty()) field.refuse("lacks the member S: give the penalty matrices as S");
    if (!penalty.ranks.empty() && penalty.ranks.size() != penalty.matrices.size())
      field.at("rank").refuse(
          fmt::format("needs one number for each of {} matrices", penalty.matrices.size()));
  }
  return out;
}

std::string text_of(const ParametricPenalties& penalties) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [term, penalty] : penalties) {
    nlohmann::json& own = json[term];
    own = {{"rank", penalty.ranks}, {"sp", penalty.sp}};
    if (penalty.ranks.empty()) own.erase("rank");
    if (penalty.sp.empty()) own.erase("sp");
    for (const Matrix& matrix : penalty.matrices) {
      nlohmann::json rows = nlohmann::json::array();
      for (int i = 0; i < matrix.rows(); ++i) {
        nlohmann::json& row = rows.emplace_back();
        for (int j = 0; j < matrix.cols(); ++j) row.push_back(matrix(i, j));
      }
      own["S"].push_back(std::move(rows));
    }
  }
  return json.empty() ? std::string() : json.dump();
}

Penalty penalty_of(const ParametricPenalty& given, const std::string& label, int size) {
  if (given.matrices.size() > most_general_penalties)
    throw base::usage_error(
        "para-pen: '{}' has {} penalties, more than the maximum of {}: give fewer penalties", label,
        given.matrices.size(), most_general_penalties);
  for (std::size_t j = 0; j < given.matrices.size(); ++j) {
    const Matrix& matrix = given.matrices[j];
    const auto refuse = [&](const std::string& why) {
      throw base::usage_error("para-pen: matrix {} of '{}' {}", j + 1, label, why);
    };
    if (matrix.rows() != size || matrix.cols() != size)
      refuse(fmt::format(
          "is {} x {}, but the term has {} coefficient{}: give one row and one column per coefficient",
          matrix.rows(), matrix.cols(), size, size == 1 ? "" : "s"));
    if (matrix != transpose(matrix)) refuse("is not symmetric: give a symmetric matrix");
    const std::vector<double> values = symmetric_eigen(matrix).values;
    const double zero = rank_tolerance * values.back();
    if (!(values.back() > 0)) refuse("penalises nothing: leave the matrix out");
    if (values.front() < -zero)
      refuse(fmt::format("has the negative eigenvalue {:.3g}: give a positive semidefinite matrix",
                         values.front()));
    const auto rank = std::ranges::count_if(values, [&](double value) { return value > zero; });
    if (!given.ranks.empty() && given.ranks[j] != rank)
      refuse(fmt::format("has the rank {}, not {}: correct the rank, or leave the rank out", rank,
                         given.ranks[j]));
  }
  Penalty penalty{
      .matrices = given.matrices, .eigenvalues = {}, .labels = {}, .set_ranks = {}, .null_space = {}};
  derive_from_matrices(penalty, size);
  return penalty;
}

void scale_penalties(CoefBlock& block, double factor) {
  const double square = factor * factor;
  for (Matrix& matrix : block.penalty->matrices) {
    for (double& value : matrix.values()) value *= square;
  }
  for (double& value : block.penalty->eigenvalues.values()) value *= square;
  for (double& value : block.s_scale) value /= square;
}

}  // namespace TESSERA_NAMESPACE::gam
