// SPDX-License-Identifier: Apache-2.0
#include "dense_products.hpp"

#include <cblas.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>

namespace tessera::bench {
namespace {

/// A thread's rows of X, column by column, and its share of X'X.
struct Part {
  std::vector<double> x;
  std::vector<double> product;
  int rows = 0;
};

}  // namespace

DenseProducts dense_products(std::int64_t rows, int columns, HostTeam& team) {
  const auto parts = std::make_shared<std::vector<Part>>(static_cast<std::size_t>(team.size()));
  const auto for_each_part = [parts, &team](const std::function<void(Part&)>& work) {
    team.for_each_block({0, std::ssize(*parts)}, 1, [&](int /*thread*/, Range one) {
      work((*parts)[static_cast<std::size_t>(one.begin)]);
    });
  };
  for_each_part([&](Part& part) {
    std::mt19937_64 random(1);
    part.rows = static_cast<int>(std::max<std::int64_t>(1, rows / std::ssize(*parts)));
    part.x.resize(static_cast<std::size_t>(part.rows) * static_cast<std::size_t>(columns));
    for (double& value : part.x) value = static_cast<double>(random() >> 11) * 0x1p-53;
    part.product.resize(static_cast<std::size_t>(columns) * static_cast<std::size_t>(columns));
  });
  DenseProducts out;
  out.write = [=] {
    for_each_part([](Part& part) { std::memset(part.x.data(), 0, part.x.size() * sizeof(double)); });
  };
  out.products.emplace_back("dgemm", [=] {
    for_each_part([&](Part& part) {
      cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, columns, columns, part.rows, 1, part.x.data(),
                  part.rows, part.x.data(), part.rows, 0, part.product.data(), columns);
    });
  });
  out.products.emplace_back("dsyrk", [=] {
    for_each_part([&](Part& part) {
      cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, columns, part.rows, 1, part.x.data(), part.rows, 0,
                  part.product.data(), columns);
    });
  });
  return out;
}

}  // namespace tessera::bench
