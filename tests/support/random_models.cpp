// SPDX-License-Identifier: Apache-2.0
#include "support/random_models.hpp"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <numbers>
#include <random>
#include <stdexcept>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

/// Random numbers that do not depend on the standard library or the compiler. An expression must not draw
/// twice, because the order of evaluation is unspecified.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  /// Uniform in (0, 1).
  double uniform() { return (static_cast<double>(engine_() >> 11) + 0.5) * 0x1p-53; }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }
  /// An integer from `low` to `high`, inclusive.
  int whole(int low, int high) { return low + static_cast<int>(uniform() * (high - low + 1)); }
  bool one_of(int count) { return whole(1, count) == 1; }
  /// An effect size, which is 0 with probability 1/3.
  double effect() { return std::array{0.0, 0.0, 0.1, 0.2, 0.5, 1.5}[static_cast<std::size_t>(whole(0, 5))]; }

 private:
  std::mt19937_64 engine_;
};

/// Builds a model term by term, and its linear predictor.
class Builder {
 public:
  Builder(std::uint64_t seed, int rows) : random_(seed), rows_(rows), eta_(static_cast<std::size_t>(rows)) {
    out_.model = DenseModel(rows);
    out_.model.add_intercept();
    out_.formula = "z ~ 1";
  }
  Random& random() { return random_; }
  [[nodiscard]] int rows() const { return rows_; }

  /// `related`: weight of the first variable in the new one, from 0 (independent) to 1 (equal).
  std::string add_variable(double related) {
    const std::string name = fmt::format("x{}", ++variables_);
    std::vector<double> x;
    for (std::size_t i = 0; i < eta_.size(); ++i) {
      const double own = random_.uniform();
      x.push_back(variables_ == 1 ? own : related * out_.numbers[0].second[i] + (1 - related) * own);
    }
    out_.numbers.emplace_back(name, std::move(x));
    return name;
  }
  void add_smooth(const std::string& variable, int k) {
    const auto& x = numbers(variable);
    const std::string label = fmt::format("s({}, bs=\"ps\", k={})", variable, k);
    out_.model.add_ps(label, x, k);
    out_.formula += " + " + label;
    add_curve(x);
  }
  void add_tensor(const std::string& a, const std::string& b, int k_a, int k_b) {
    const std::string label = fmt::format("te({}, {}, bs=\"ps\", k=c({},{}))", a, b, k_a, k_b);
    out_.model.add_te(label, numbers(a), k_a, numbers(b), k_b);
    out_.formula += " + " + label;
    add_curve(numbers(a));
    const double size = random_.effect();
    for (std::size_t i = 0; i < eta_.size(); ++i) {
      eta_[i] += size * std::sin(5 * numbers(a)[i]) * numbers(b)[i];
    }
  }

  std::string add_grouping(int levels) {
    std::vector<int> codes;
    for (int i = 0; i < rows_; ++i) {
      const double u = random_.uniform();
      codes.push_back(static_cast<int>(levels * u * (random_.one_of(2) ? u : 1)));
    }
    return add_grouping(codes);
  }
  /// A factor in which `below` is nested, except for a fraction `elsewhere` of rows with random levels.
  std::string add_grouping_above(const std::string& below, int levels, double elsewhere) {
    std::vector<int> codes;
    for (const std::string& level : factor(below)) {
      const int above = std::stoi(level.substr(1)) % levels;
      codes.push_back(random_.uniform() < elsewhere ? random_.whole(0, levels - 1) : above);
    }
    return add_grouping(codes);
  }
  void add_random_effect(const std::string& name, double size) {
    const auto& levels = factor(name);
    const std::string label = fmt::format("s({}, bs=\"re\")", name);
    out_.model.add_re(label, levels);
    out_.formula += " + " + label;
    std::vector<double> effects;
    for (int i = 0; i < 1000; ++i) effects.push_back(size * random_.normal());
    for (std::size_t i = 0; i < eta_.size(); ++i) {
      eta_[i] += effects[static_cast<std::size_t>(std::stoi(levels[i].substr(1)) - 100)];
    }
  }
  void add_main_effect(const std::string& name) {
    out_.model.add_parametric(name, treatment_contrasts(factor(name)));
    out_.formula += " + " + name;
  }
  void add_smooth_by(const std::string& variable, int k, const std::string& by) {
    const std::string label = fmt::format("s({}, bs=\"ps\", k={}, by={})", variable, k, by);
    out_.model.add_ps_by(label, numbers(variable), k, factor(by));
    out_.formula += " + " + label;
    add_curve(numbers(variable));
  }

  /// The working model at the true means. `kind`: 0 gaussian, 1 Poisson, 2 binomial, 3 Gamma.
  RandomModel finish(int kind) {
    std::vector<double> z;
    std::vector<double> w;
    const double noise = random_.one_of(3) ? 0.2 : 1;
    for (const double eta : eta_) {
      const double mean = kind == 1 ? std::exp(0.5 * eta) : 1 / (1 + std::exp(-eta));
      w.push_back(kind == 1 ? mean : kind == 2 ? mean * (1 - mean) : 1);
      // Noise: skewed for Gamma; otherwise normal, with the family's variance.
      const double skewed = -std::log(random_.uniform()) - 1;
      z.push_back(eta + (kind == 0   ? noise * random_.normal()
                         : kind == 3 ? noise * skewed
                                     : random_.normal() / std::sqrt(w.back())));
    }
    out_.scale_known = kind == 1 || kind == 2;
    out_.working = out_.model.working(
        z, w, std::vector<double>(static_cast<std::size_t>(out_.model.design().coef_size)));
    out_.numbers.emplace_back("z", std::move(z));
    out_.numbers.emplace_back("w", std::move(w));
    return std::move(out_);
  }

 private:
  [[nodiscard]] const std::vector<double>& numbers(const std::string& name) const {
    for (const auto& [own, values] : out_.numbers) {
      if (own == name) return values;
    }
    throw std::logic_error("no variable " + name);
  }
  [[nodiscard]] const std::vector<std::string>& factor(const std::string& name) const {
    for (const auto& [own, values] : out_.factors) {
      if (own == name) return values;
    }
    throw std::logic_error("no grouping " + name);
  }
  std::string add_grouping(const std::vector<int>& codes) {
    const std::string name = fmt::format("g{}", ++groupings_);
    std::vector<std::string> levels;
    for (const int code : codes) levels.push_back(fmt::format("l{}", 100 + code));
    out_.factors.emplace_back(name, std::move(levels));
    return name;
  }
  void add_curve(const std::vector<double>& x) {
    const int waves = random_.whole(1, 8);
    const double size = random_.effect();
    for (std::size_t i = 0; i < eta_.size(); ++i) eta_[i] += size * std::sin(waves * x[i]);
  }

  Random random_;
  int rows_;
  int variables_ = 0;
  int groupings_ = 0;
  std::vector<double> eta_;
  RandomModel out_;
};

void crossed(Builder& b) {
  Random& random = b.random();
  const int groupings = random.whole(2, 3);
  for (int i = 0; i < groupings; ++i) {
    const std::string g = b.add_grouping(random.whole(3, 20));
    b.add_random_effect(g, random.effect());
  }
}

void nested(Builder& b) {
  Random& random = b.random();
  const std::string below = b.add_grouping(random.whole(8, 30));
  const double elsewhere = random.one_of(2) ? 0 : 0.4 * random.uniform();
  const std::string above = b.add_grouping_above(below, random.whole(2, 7), elsewhere);
  b.add_random_effect(below, random.effect());
  b.add_random_effect(above, random.effect());
  if (random.one_of(2)) {
    const std::string third = b.add_grouping_above(below, random.whole(2, 7), 0.3);
    b.add_random_effect(third, random.effect());
  }
}

void many_smooths(Builder& b) {
  Random& random = b.random();
  const int smooths = random.whole(3, 7);
  const double related = random.one_of(2) ? 0 : 0.95 * random.uniform();
  for (int i = 0; i < smooths; ++i) {
    const int k = random.whole(5, 9);
    b.add_smooth(b.add_variable(related), k);
  }
}

void tensor(Builder& b) {
  Random& random = b.random();
  const std::string x = b.add_variable(0);
  const std::string z = b.add_variable(0.7 * random.uniform());
  const int k_z = random.whole(4, 5);
  const int k_x = random.whole(4, 5);
  b.add_tensor(x, z, k_x, k_z);
  if (random.one_of(2)) b.add_smooth(b.add_variable(0.9 * random.uniform()), 8);
  if (!random.one_of(2)) return;
  const double size = random.effect();
  b.add_random_effect(b.add_grouping(random.whole(3, 9)), size);
}

void by_factor(Builder& b) {
  Random& random = b.random();
  const std::string g = b.add_grouping(random.whole(2, 4));
  const std::string x = b.add_variable(0);
  if (random.one_of(2)) {
    b.add_main_effect(g);
  } else {
    b.add_random_effect(g, random.effect());
  }
  b.add_smooth_by(x, random.whole(5, 7), g);
  if (random.one_of(2)) b.add_smooth(b.add_variable(0.9 * random.uniform()), 7);
}

void mixed(Builder& b) {
  Random& random = b.random();
  for (int i = random.whole(1, 3); i > 0; --i) b.add_smooth(b.add_variable(0.9 * random.uniform()), 7);
  const std::string g = b.add_grouping(random.whole(4, 25));
  b.add_random_effect(g, random.effect());
  const double size = random.effect();
  b.add_random_effect(b.add_grouping_above(g, 4, 0.2), size);
}

/// One factor has about a level per row, or per two rows.
void many_levels(Builder& b) {
  Random& random = b.random();
  for (const bool many : {true, false}) {
    const double size = random.effect();
    const int levels = many ? b.rows() * random.whole(2, 4) / 4 : random.whole(2, 12);
    b.add_random_effect(b.add_grouping(levels), size);
  }
  if (random.one_of(2)) b.add_smooth(b.add_variable(0), 8);
}

}  // namespace

RandomModel random_model(std::uint64_t seed) {
  constexpr std::array designs{crossed, nested, many_smooths, tensor, by_factor, mixed, many_levels};
  Random sizes(seed + 1'000'003);
  const auto design = designs[seed % designs.size()];
  const bool many = design == many_levels;
  Builder builder(seed, many              ? sizes.whole(20, 60)
                        : sizes.one_of(3) ? sizes.whole(60, 90)
                                          : sizes.whole(90, 250));
  design(builder);
  return builder.finish(static_cast<int>(seed / designs.size() % 4));
}

}  // namespace TESSERA_NAMESPACE::gam::testing
