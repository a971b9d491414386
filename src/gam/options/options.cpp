// SPDX-License-Identifier: Apache-2.0
#include "base/did_you_mean.hpp"
#include "base/errors.hpp"
#include "base/list_text.hpp"
#include "gam/curves/named_contrasts.hpp"
#include "gam/design/knots.hpp"
#include "gam/design/parametric_penalties.hpp"
#include "gam/family/family.hpp"
#include "gam/options/deciding_options.hpp"
#include "gam/options/option_values.hpp"

#include <tessera/error.hpp>

#include <nlohmann/json.hpp>

#include <memory>

namespace TESSERA_NAMESPACE::gam {
namespace {

/// Name, help and constraints of an option.
struct Words {
  std::string_view name;
  std::string_view help;
  NumberRange range{};
  std::string_view value{};    ///< placeholder of the value in the help
  std::string_view aliases{};  ///< an alternative name
  bool repeatable = false;
  bool decides = false;      ///< the fit refuses a checkpoint with another value
  bool only_if_set = false;  ///< for `decides`: a checkpoint stores the value only if it is not the default
};

template <class Options>
struct Row {
  Words words;
  OptionKind kind{};
  std::vector<std::string> (*choices)() = nullptr;
  void (*read)(Options& options, const NamedOption& given, const NumberRange& range) = nullptr;
  std::string (*text)(const Options& options) = nullptr;
};

template <class Options, class Member>
Options owner_of(Member Options::*);

template <auto Member, auto... Path>
constexpr auto& member_of(auto& options) {
  if constexpr (sizeof...(Path) == 0)
    return options.*Member;
  else
    return member_of<Path...>(options.*Member);
}

/// The table row of the option that sets `Member`, or its nested member at `Path`. The `set_value` of the
/// member's type, or `read`, parses the text.
template <auto Member, auto... Path>
constexpr auto option(Words words) {
  using Options = decltype(owner_of(Member));
  using Value = std::remove_cvref_t<decltype(member_of<Member, Path...>(std::declval<Options&>()))>;
  Row<Options> row{.words = words, .kind = option_kind_of<Value>()};
  row.read = [](Options& options, const NamedOption& given, const NumberRange& range) {
    set_value(given, range, member_of<Member, Path...>(options));
  };
  row.text = [](const Options& options) { return text_of_value(member_of<Member, Path...>(options)); };
  if constexpr (std::is_enum_v<Value>) {
    row.choices = [] {
      std::vector<std::string> all;
      for (const auto& [word, value] : OptionChoices<Value>::all) all.emplace_back(word);
      return all;
    };
  }
  return row;
}

template <auto Member>
constexpr auto option(Words words, decltype(Row<decltype(owner_of(Member))>::read) read) {
  using Options = decltype(owner_of(Member));
  using Value = std::remove_cvref_t<decltype(std::declval<Options&>().*Member)>;
  Row<Options> row{.words = words, .kind = OptionKind::text, .read = read};
  if constexpr (requires(const Value& value) { text_of_value(value); })
    row.text = [](const Options& options) { return text_of_value(options.*Member); };
  return row;
}

/// Each use of the option adds one column, because a column's name may contain commas.
void add_column(std::vector<std::string>& columns, const NamedOption& given) {
  columns.push_back(given.value);
}

std::string text_of_family(const FitOptions& options) {
  return options.family.definition().full_text();
}

void set_link(FitOptions& options, const NamedOption& given, const NumberRange& /*range*/) {
  auto linked = options.family.definition().linked(given.value);
  if (!linked) {
    const auto names = options.family.definition().link_names();
    refuse(given, fmt::format("the family {} does not have this link: {}", options.family.name(),
                              names.empty() ? "remove link"
                                            : "give " + base::list_text({names.begin(), names.end()}, "or")));
  }
  options.family = ResponseFamily(std::make_shared<const Family>(*std::move(linked)));
}

void set_rho(FitOptions& options, const NamedOption& given, const NumberRange& range) {
  options.estimate_rho = given.value == "auto";
  options.rho = 0;
  if (!options.estimate_rho) set_value(given, range, options.rho);
}

void add_knots(std::map<std::string, std::vector<double>>& knots, const NamedOption& given) {
  const auto [known, is_first] = knots.insert(parse_knots(given.value));
  if (!is_first)
    refuse(given,
           fmt::format("knots of {} are given twice: give all knots of a variable at once", known->first));
}

constexpr NumberRange from(double least) {
  return {.least = least};
}
constexpr NumberRange whole_draws{0, 100'000'000};
constexpr NumberRange some_draws{1, 100'000'000};
constexpr double most_integer = std::numeric_limits<int>::max();
constexpr NumberRange block_sizes{1, static_cast<double>(std::int64_t{1} << 40)};
constexpr std::string_view block_rows_help = "Rows per block of the reproducible sums";
constexpr std::string_view knots_help = "Limits or knots of a variable: month=0.5,12.5";
constexpr std::string_view weights_help = "Prior weights: a column, or an expression of R";
constexpr std::string_view columns_memory_help =
    "Memory limit per node for columns, such as 2G; more columns are kept in scratch files (default: 3/4 of "
    "free memory)";
constexpr std::string_view scratch_help =
    "Folder for scratch files, on a disk (default: $TMPDIR or /var/tmp)";
constexpr std::string_view new_levels_help =
    "For levels not in the fit: mgcv: random effects add 0, other terms are NA; population: factor smooths "
    "add 0 too; na: all terms of these levels are NA; error: an error";

// The tables of options, in the order of the help. A family must be read before its link.

const Row<FitOptions> of_fits[]{
    {{.name = "family",
      .help = "The distribution of the response: gaussian, binomial, poisson, gamma, nb, inverse.gaussian, "
              "quasipoisson, quasibinomial, quasi, tweedie, tw, scat, betar, ocat, cnorm, clog, cpois, elf, "
              "zip, also "
              "in the notation of "
              "R: \"binomial(probit)\", \"ocat(R=4)\", \"nb(theta=3)\", \"tw(a=1.1)\", \"scat(min.df=2)\", "
              "\"quasi(log, "
              "mu^2)\"; or @FILE: a custom family in TOML",
      .value = "FAMILY",
      .decides = true},
     OptionKind::text,
     nullptr,
     [](FitOptions& o, const NamedOption& g, const NumberRange&) { o.family = family(g.value); },
     text_of_family},
    {{.name = "link", .help = "Link function of the family, such as probit"},
     OptionKind::text,
     nullptr,
     set_link,
     nullptr},
    {{.name = "method", .help = "fREML, the criterion by which smoothing parameters are estimated"},
     OptionKind::text,
     nullptr,
     [](FitOptions&, const NamedOption& g, const NumberRange&) {
       if (plain_name(g.value) != "freml") refuse(g, "the only method is fREML: remove method");
     },
     [](const FitOptions&) { return std::string("fREML"); }},
    option<&FitOptions::knots>(
        {.name = "knots", .help = knots_help, .repeatable = true, .decides = true},
        [](FitOptions& o, const NamedOption& g, const NumberRange&) { add_knots(o.knots, g); }),
    option<&FitOptions::sp>(
        {.name = "sp",
         .help = "Smoothing parameters, in the order of the smooths: 0.6,-1; negative values are estimated",
         .decides = true}),
    option<&FitOptions::min_sp>(
        {.name = "min-sp",
         .help = "Values added to the smoothing parameters, one for each penalty, as gam's min.sp: 0.1,0,0",
         .decides = true}),
    {{.name = "para-pen",
      .help = "Penalties of parametric terms, as gam's paraPen: a JSON file, or its text: {\"g\": {\"S\": "
              "[[[2, -1], [-1, 2]]]}}, matrices by term, with \"rank\" and \"sp\" if given",
      .value = "FILE",
      .decides = true},
     OptionKind::text,
     nullptr,
     [](FitOptions& o, const NamedOption& g, const NumberRange&) {
       o.para_pen = parametric_penalties(g.value);
     },
     [](const FitOptions& o) { return text_of(o.para_pen); }},
    option<&FitOptions::select>(
        {.name = "select",
         .help = "Penalise the null spaces of smooths, so that they may leave the model",
         .decides = true}),
    option<&FitOptions::gamma>({.name = "gamma",
                                .help = "Values above 1 give smoother fits, as mgcv's gamma",
                                .range = {1e-3, 1e3},
                                .decides = true}),
    option<&FitOptions::weights>({.name = "weights", .help = weights_help, .decides = true}),
    option<&FitOptions::offset>({.name = "offset",
                                 .help = "Expression added to the predictor in fits, but not in predictions",
                                 .decides = true}),
    option<&FitOptions::subset>({.name = "subset",
                                 .help = "Condition on the rows that are fitted, as in R: 'year > 2000'",
                                 .decides = true}),
    {{.name = "rho",
      .help = "Correlation of the residuals of neighbouring rows, as bam's rho; auto: that of least fREML",
      .value = "NUMBER|auto",
      .decides = true},
     OptionKind::text,
     nullptr,
     set_rho,
     [](const FitOptions& o) { return o.estimate_rho ? "auto" : text_of_value(o.rho); }},
    option<&FitOptions::ar_start>({.name = "ar-start",
                                   .help = "TRUE in rows where a series of correlated residuals begins, as "
                                           "bam's AR.start: a column or an expression",
                                   .decides = true}),
    option<&FitOptions::levels>(
        {.name = "levels",
         .help = "Levels of a factor in order, the reference first: site=cape,bay; levels with , or = in "
                 "double quotes; other values are missing",
         .repeatable = true,
         .decides = true},
        [](FitOptions& o, const NamedOption& g, const NumberRange&) { add_levels(o.levels, g, true); }),
    option<&FitOptions::ordered>(
        {.name = "ordered",
         .help = "Column that is an ordered factor: dose, or dose=low,mid,high",
         .repeatable = true,
         .decides = true},
        [](FitOptions& o, const NamedOption& g, const NumberRange&) { add_levels(o.ordered, g, false); }),
    option<&FitOptions::drop_unused_levels>(
        {.name = "drop-unused-levels", .help = "Drop levels without a row in the fit", .decides = true}),
    option<&FitOptions::residuals>(
        {.name = "residuals",
         .help = "Store residuals of sampled rows, typical values and occupancy in the model"}),
    option<&FitOptions::sample>(
        {.name = "sample", .help = "Number of rows of the table to store in the model", .range = {0, 2000}}),
    option<&FitOptions::max_iterations>(
        {.name = "max-iterations", .help = "Maximum number of iterations", .range = {1, 1'000'000}}),
    option<&FitOptions::tolerance>(
        {.name = "tolerance", .help = "Convergence tolerance: largest relative change of the deviance"}),
    option<&FitOptions::step_tolerance>(
        {.name = "step-tolerance",
         .help = "Convergence tolerance: largest relative change of the linear predictor"}),
    option<&FitOptions::largest_tested_effect>(
        {.name = "largest-tested-effect",
         .help = "Maximum number of coefficients p of a random effect that is tested; a test costs p^3",
         .range = {0, most_integer}}),
    option<&FitOptions::checkpoint>(
        {.name = "checkpoint",
         .help = "Checkpoint file, written after every iteration; the same fit resumes from it",
         .value = "FILE"}),
    option<&FitOptions::memory, &MemoryOptions::node_bytes>({.name = "memory", .help = columns_memory_help}),
    option<&FitOptions::memory, &MemoryOptions::scratch>(
        {.name = "scratch", .help = scratch_help, .value = "DIR"}),
    option<&FitOptions::memory, &MemoryOptions::device_bytes>(
        {.name = "device-memory",
         .help = "Memory limit per GPU for columns and workspace; more columns are uploaded in each pass "
                 "(default: half)"}),
};

const Row<PredictOptions> of_predictions[]{
    option<&PredictOptions::type>(
        {.name = "type",
         .help = "link: the linear predictor; response: the mean; terms, iterms: the contribution of each "
                 "term to the predictor; lpmatrix: the model matrix"}),
    option<&PredictOptions::terms>(
        {.name = "terms",
         .help = "Only these terms, comma-separated, named as in the summary; (Intercept) is a term",
         .repeatable = true}),
    option<&PredictOptions::exclude>(
        {.name = "exclude",
         .help = "Leave out these terms; the table may lack columns that only they use",
         .repeatable = true}),
    option<&PredictOptions::new_levels>({.name = "new-levels", .help = new_levels_help}),
    option<&PredictOptions::standard_errors>(
        {.name = "se", .help = "Add standard errors", .aliases = "se-fit"}),
    option<&PredictOptions::interval>(
        {.name = "interval", .help = "Probability of credible intervals, such as 0.95; 0: no intervals"}),
    option<&PredictOptions::prediction_interval>(
        {.name = "prediction-interval",
         .help = "With type response: probability of intervals for a new response; 0: no intervals"}),
    option<&PredictOptions::unconditional>(
        {.name = "unconditional",
         .help = "Standard errors and intervals with the uncertainty of the smoothing parameters"}),
    option<&PredictOptions::draws>(
        {.name = "draws",
         .help = "With type link or response: number of draws of the coefficients from their posterior "
                 "distribution, with a prediction for each; 0: predict at the estimate",
         .range = whole_draws}),
    option<&PredictOptions::seed>({.name = "seed", .help = "Seed of the random draws", .range = from(0)}),
    {{.name = "keep",
      .help = "Columns of the table to copy to the output, comma-separated, or all",
      .repeatable = true},
     OptionKind::names,
     nullptr,
     [](PredictOptions& o, const NamedOption& g, const NumberRange& range) {
       o.keep_all = g.value == "all";
       if (!o.keep_all) set_value(g, range, o.keep);
     },
     nullptr},
    option<&PredictOptions::node_bytes>({.name = "memory",
                                         .help = "Memory limit per node for rows, such as 2G; a larger table "
                                                 "is predicted in parts (default: 3/4 of free memory)"}),
};

const Row<SmoothOptions> of_smooths[]{
    option<&SmoothOptions::terms>(
        {.name = "terms",
         .help = "Only these smooths, comma-separated, named as in the summary; default: all",
         .repeatable = true}),
    option<&SmoothOptions::points>({.name = "points",
                                    .help = "Grid points per numeric variable; 0: 100 for smooths of one "
                                            "such variable, 40 of two, 15 of three, 6 of more",
                                    .range = {0, 100'000}}),
    option<&SmoothOptions::interval>({.name = "interval", .help = "Probability of the bands; 0: no bands"}),
    option<&SmoothOptions::draws>(
        {.name = "draws",
         .help = "Number of posterior draws for simultaneous bands; 0: no simultaneous bands",
         .range = whole_draws}),
    option<&SmoothOptions::seed>({.name = "seed", .help = "Seed of the random draws", .range = from(0)}),
    option<&SmoothOptions::unconditional>(
        {.name = "unconditional",
         .help = "Standard errors and bands with the uncertainty of the smoothing parameters"}),
};

const Row<DerivativeOptions> of_derivatives[]{
    option<&DerivativeOptions::order>(
        {.name = "order", .help = "Order of the derivatives, 1 or 2", .range = {1, 2}}),
    option<&DerivativeOptions::variables>(
        {.name = "variables",
         .help = "Only derivatives by these variables, comma-separated; default: all",
         .repeatable = true}),
};

const Row<SimulateOptions> of_simulations[]{
    option<&SimulateOptions::draws>({.name = "draws", .help = "Number of draws", .range = some_draws}),
    option<&SimulateOptions::seed>({.name = "seed", .help = "Seed of the random numbers", .range = from(0)}),
    option<&SimulateOptions::unconditional>(
        {.name = "unconditional",
         .help = "Draws of the coefficients with the uncertainty of the smoothing parameters"}),
    option<&SimulateOptions::posterior_predictive>(
        {.name = "posterior-predictive",
         .help = "For responses: draw the coefficients anew for each draw, in place of their estimates"}),
    option<&SimulateOptions::weights>(
        {.name = "weights",
         .help = "For responses: the table's column of prior weights, or of binomial trials; default: 1"}),
    option<&SimulateOptions::new_levels>({.name = "new-levels", .help = new_levels_help}),
    option<&SimulateOptions::keep>(
        {.name = "keep",
         .help = "For responses: columns of the table to copy to the output, comma-separated",
         .repeatable = true}),
};

const Row<CheckOptions> of_checks[]{
    option<&CheckOptions::seed>(
        {.name = "seed", .help = "Seed of the sample and the permutations", .range = from(0)}),
    option<&CheckOptions::largest_sample>(
        {.name = "sample", .help = "Maximum number of rows in the check of bases", .range = {4, 100'000}}),
    option<&CheckOptions::permutations>(
        {.name = "permutations", .help = "Permutations for the p-values of bases", .range = {1, 1'000'000}}),
    option<&CheckOptions::largest_concurvity>(
        {.name = "largest-concurvity",
         .help = "Maximum number of coefficients for which concurvity is computed",
         .range = {0, 20'000}}),
    option<&CheckOptions::lags>(
        {.name = "autocorrelation",
         .help = "Number of lags of the autocorrelation of residuals, in the order of the rows",
         .range = {0, 1000}}),
    option<&CheckOptions::series>(
        {.name = "series", .help = "Column that identifies the series of the autocorrelation"}),
    option<&CheckOptions::memory, &MemoryOptions::node_bytes>(
        {.name = "memory", .help = columns_memory_help}),
    option<&CheckOptions::memory, &MemoryOptions::scratch>(
        {.name = "scratch", .help = scratch_help, .value = "DIR"}),
};

const Row<ResidualOptions> of_residuals[]{
    option<&ResidualOptions::type>(
        {.name = "type", .help = "Kind of residuals, the fitted values, or all of these"}),
    option<&ResidualOptions::variables>(
        {.name = "variables", .help = "Add the variables of the model's terms"}),
    option<&ResidualOptions::memory, &MemoryOptions::node_bytes>(
        {.name = "memory", .help = columns_memory_help}),
    option<&ResidualOptions::memory, &MemoryOptions::scratch>(
        {.name = "scratch", .help = scratch_help, .value = "DIR"}),
};

const Row<ManyOptions> of_many[]{
    {{.name = "family",
      .help = "The distribution of the responses: nb, poisson, binomial, gaussian, gamma, quasipoisson or "
              "quasibinomial; \"nb(theta=3)\" fixes theta",
      .value = "FAMILY"},
     OptionKind::text,
     nullptr,
     [](ManyOptions& o, const NamedOption& g, const NumberRange&) { o.family = family(g.value); },
     [](const ManyOptions& o) { return o.family.definition().text(); }},
    option<&ManyOptions::weights>({.name = "weights", .help = weights_help}),
    option<&ManyOptions::knots>(
        {.name = "knots", .help = knots_help, .repeatable = true},
        [](ManyOptions& o, const NamedOption& g, const NumberRange&) { add_knots(o.knots, g); }),
    option<&ManyOptions::min_rows>(
        {.name = "min-rows",
         .help = "Minimum number of values of a response; responses with fewer are not fitted",
         .range = {2, most_integer}}),
    option<&ManyOptions::min_share>(
        {.name = "min-share", .help = "Least share of the rows that have a value", .range = {0, 1}}),
    option<&ManyOptions::memory, &MemoryOptions::node_bytes>(
        {.name = "memory",
         .help = "Memory limit per node for sorting a sparse matrix by response, such as 2G; beyond it a "
                 "scratch file (default: 64M per rank)"}),
    option<&ManyOptions::memory, &MemoryOptions::scratch>(
        {.name = "scratch", .help = scratch_help, .value = "DIR"}),
    option<&ManyOptions::covariances>({.name = "covariances",
                                       .help = "Write the covariances of the coefficients too (.h5), which "
                                               "standard errors of predictions need"}),
    option<&ManyOptions::checkpoint>(
        {.name = "checkpoint",
         .help = "Checkpoint file, written after every batch of responses; the same fits resume from it",
         .value = "FILE"}),
    option<&ManyOptions::drop>(
        {.name = "drop",
         .help =
             "Terms whose partial R2 to compute, the share of the deviance without them that they explain: "
             "'s(age)'"}),
    option<&ManyOptions::require_one_kind>(
        {.name = "require-one-kind",
         .help = "If a GPU fails after responses were computed on it, compute all anew on the CPU"}),
};

const Row<Responses> of_responses[]{
    option<&Responses::in>(
        {.name = "responses-in", .help = "Whether the rows or the columns of the matrix are the responses"}),
    option<&Responses::subset>({.name = "responses-subset",
                                .help = "File with the names of the responses to fit, one per line",
                                .value = "FILE"}),
    option<&Responses::sample>(
        {.name = "responses-sample", .help = "Fit a sample of so many responses; 0: all", .range = from(0)}),
    option<&Responses::seed>({.name = "seed", .help = "Seed of the sample"}),
    option<&Responses::key>(
        {.name = "key",
         .help =
             "Column of the covariates by which their rows are matched to the names of the matrix's rows"}),
    option<&Responses::weights>(
        {.name = "weights-matrix",
         .help =
             "Weights of each response, in a file like the responses': multiplied with 'weights'; 0 leaves "
             "a row out",
         .value = "MATRIX"}),
    option<&Responses::offsets>({.name = "offset-matrix",
                                 .help = "Offsets of each response, in a file like the responses'",
                                 .value = "MATRIX"}),
};

constexpr Words terms_of_curves{.name = "terms", .help = "The curves: 's(t1):l1,s(t2):l2' (default: all)"};
constexpr Words points_of_curves{
    .name = "points",
    .help = "Points of each curve; 0: twice its largest number of basis functions",
    .range = {0, 1000}};
constexpr Words start_of_curves{
    .name = "start",
    .help = "Where curves start (default: at the least value of all, or with their own data)"};
constexpr Words end_of_curves{
    .name = "end", .help = "Where curves end, if they have data after it (default: their greatest value)"};

const Row<CurveTestOptions> of_curves[]{
    option<&CurveTestOptions::test>(
        {.name = "test",
         .help =
             "association: is each curve constant; start-vs-end: does it end where it starts; diff-end: do "
             "two curves end at one value; pattern: are they the same; condition: are those of one "
             "variable"}),
    {{.name = "contrasts",
      .help = "Contrasts to test in place of 'test', by name: a JSON file, or its text: {\"late\": "
              "[{\"s(t):a.5\": 1, \"s(t):b.5\": -1}]}, weights of coefficients",
      .value = "FILE"},
     OptionKind::text,
     nullptr,
     [](CurveTestOptions& o, const NamedOption& g, const NumberRange&) {
       o.contrasts = named_contrasts(g.value);
     },
     [](const CurveTestOptions&) { return std::string(); }},
    option<&CurveTestOptions::terms>(terms_of_curves),
    option<&CurveTestOptions::points>(points_of_curves),
    option<&CurveTestOptions::start>(start_of_curves),
    option<&CurveTestOptions::end>(end_of_curves),
    option<&CurveTestOptions::l2fc>(
        {.name = "l2fc", .help = "Differences up to this log2 fold change count as zero", .range = from(0)}),
    option<&CurveTestOptions::rank_tolerance>(
        {.name = "rank-tolerance",
         .help = "Eigenvalues of the contrasts' covariance up to this share of the largest count as zero",
         .range = {0, 1}}),
};

const Row<CurveValueOptions> of_curve_values[]{
    option<&CurveValueOptions::terms>(terms_of_curves),
    option<&CurveValueOptions::points>(points_of_curves),
    option<&CurveValueOptions::start>(start_of_curves),
    option<&CurveValueOptions::end>(end_of_curves),
    option<&CurveValueOptions::interval>({.name = "interval",
                                          .help = "Bounds of the interval of each mean with this probability",
                                          .range = {0, 1}}),
    option<&CurveValueOptions::scaled>(
        {.name = "scaled",
         .help = "Standard scores of a response's means on all its curves, for clustering"}),
};

const Row<TableOptions> of_tables[]{
    option<&TableOptions::missing>(
        {.name = "na-strings",
         .help = "Fields that mean a missing value, comma-separated; 'NA,N/A,' includes the empty field",
         .decides = true},
        [](TableOptions& o, const NamedOption& g, const NumberRange&) {
          const auto texts = base::split(g.value, ',');  // "NA,,-" lists NA, the empty text and "-"
          o.missing.assign(texts.begin(), texts.end());
        }),
    option<&TableOptions::factors>(
        {.name = "factor",
         .help = "Column to read as a factor, even if numeric",
         .repeatable = true,
         .decides = true},
        [](TableOptions& o, const NamedOption& g, const NumberRange&) { add_column(o.factors, g); }),
    option<&TableOptions::numbers>(
        {.name = "numeric",
         .help = "Column to read as numeric, even if quoted",
         .repeatable = true,
         .decides = true},
        [](TableOptions& o, const NamedOption& g, const NumberRange&) { add_column(o.numbers, g); }),
    option<&TableOptions::dates>(
        {.name = "date",
         .help = "Column of ISO dates, such as 2020-01-31, to read as days since 1970-01-01; or of times, "
                 "such as 2020-01-31T12:30:00Z, to read as seconds since 1970-01-01 UTC",
         .repeatable = true,
         .decides = true,
         .only_if_set = true},
        [](TableOptions& o, const NamedOption& g, const NumberRange&) { add_column(o.dates, g); }),
    option<&TableOptions::block_rows>(
        {.name = "block-rows", .help = block_rows_help, .range = block_sizes, .decides = true}),
    option<&TableOptions::sep>({.name = "sep",
                                .help = "Separator of the fields of a text file: a character, or tab "
                                        "(default: found in its first 100 rows)",
                                .value = "CHARACTER",
                                .decides = true,
                                .only_if_set = true}),
    option<&TableOptions::dec>(
        {.name = "dec",
         .help = "Decimal mark of a text file: '.' or ',' (default: found in its first 100 rows)",
         .value = "CHARACTER",
         .decides = true,
         .only_if_set = true}),
    option<&TableOptions::comment>(
        {.name = "comment",
         .help = "Skip lines of a text file that begin with this character, such as '#'",
         .value = "CHARACTER",
         .decides = true,
         .only_if_set = true}),
    option<&TableOptions::header>(
        {.name = "header",
         .help = "Whether the first row of a text file names the columns; otherwise they are V1, V2, ...",
         .decides = true,
         .only_if_set = true}),
    option<&TableOptions::skip>({.name = "skip",
                                 .help = "Number of lines of a text file to skip before the table",
                                 .range = from(0),
                                 .decides = true,
                                 .only_if_set = true}),
};

const Row<ArrowOptions> of_arrow[]{
    option<&ArrowOptions::columns>(
        {.name = "column", .help = "Column to use; default: all", .repeatable = true},
        [](ArrowOptions& o, const NamedOption& g, const NumberRange&) { add_column(o.columns, g); }),
    option<&ArrowOptions::levels>(
        {.name = "levels",
         .help = "Levels of a factor in their order: dose=low,mid,high",
         .repeatable = true},
        [](ArrowOptions& o, const NamedOption& g, const NumberRange&) { add_levels(o.levels, g, true); }),
    option<&ArrowOptions::keep_dictionary_order>(
        {.name = "keep-dictionary-order",
         .help = "Keep the order of the levels in a dictionary; default: sorted"}),
    option<&ArrowOptions::block_rows>({.name = "block-rows", .help = block_rows_help, .range = block_sizes}),
};

const Row<JobOptions> of_jobs[]{
    option<&JobOptions::policy>(
        {.name = "device",
         .help = "auto: GPUs, unless the CPU is estimated to be faster; gpu: GPUs or an error; cpu"}),
    option<&JobOptions::on_device_failure>(
        {.name = "on-device-failure",
         .help =
             "If a GPU fails: cpu: recompute all on the CPU; error: exit; exclude: continue on the others"}),
    option<&JobOptions::score_model>({.name = "score-model", .help = "How the speeds of GPUs are estimated"}),
    option<&JobOptions::allow_sharing>(
        {.name = "allow-sharing", .help = "Let ranks share a GPU if a node has more ranks than GPUs"}),
    option<&JobOptions::memory_fraction>(
        {.name = "memory-fraction",
         .help = "Fraction of a GPU's free memory that a job may take, above 0, at most 1"}),
    option<&JobOptions::threads>(
        {.name = "threads",
         .help = "Host threads per rank; 0: from OMP_NUM_THREADS, Slurm or the cores",
         .range = {0, 4096},
         .aliases = "nthreads"}),
};

template <class Options>
void read(std::span<NamedOption> given, Options& options, std::span<const Row<Options>> rows) {
  for (const Row<Options>& row : rows) {
    for (NamedOption& one : given) {
      const std::string name = plain_name(one.name);
      if (name != row.words.name && name != row.words.aliases) continue;
      row.read(options, one, row.words.range);
      one.is_read = true;
    }
  }
}

template <class Options>
void check_alone(NamedOption given, std::span<const Row<Options>> rows) {
  for (const Row<Options>& row : rows) {
    Options scratch;
    if (row.kind != OptionKind::text && row.kind != OptionKind::names &&
        plain_name(given.name) == row.words.name)
      row.read(scratch, given, row.words.range);
  }
}

/// Calls `use` with each table of options in the set.
template <class Use>
void for_each_table(OptionSet set, const Use& use) {
  switch (set) {
    case OptionSet::fit: use(std::span<const Row<FitOptions>>(of_fits)); break;
    case OptionSet::predict: use(std::span<const Row<PredictOptions>>(of_predictions)); break;
    case OptionSet::smooths: use(std::span<const Row<SmoothOptions>>(of_smooths)); break;
    case OptionSet::derivatives:
      use(std::span<const Row<DerivativeOptions>>(of_derivatives));
      use(std::span<const Row<SmoothOptions>>(of_smooths));
      break;
    case OptionSet::simulate: use(std::span<const Row<SimulateOptions>>(of_simulations)); break;
    case OptionSet::check: use(std::span<const Row<CheckOptions>>(of_checks)); break;
    case OptionSet::residuals: use(std::span<const Row<ResidualOptions>>(of_residuals)); break;
    case OptionSet::many:
      use(std::span<const Row<ManyOptions>>(of_many));
      use(std::span<const Row<Responses>>(of_responses));
      break;
    case OptionSet::curves: use(std::span<const Row<CurveTestOptions>>(of_curves)); break;
    case OptionSet::curve_values: use(std::span<const Row<CurveValueOptions>>(of_curve_values)); break;
    case OptionSet::table: use(std::span<const Row<TableOptions>>(of_tables)); break;
    case OptionSet::arrow: use(std::span<const Row<ArrowOptions>>(of_arrow)); break;
    case OptionSet::job: use(std::span<const Row<JobOptions>>(of_jobs)); break;
  }
}

template <class Options>
void add_infos(std::vector<OptionInfo>& infos, std::span<const Row<Options>> rows) {
  for (const Row<Options>& row : rows) {
    const Words& words = row.words;
    infos.push_back({.name = std::string(words.name),
                     .kind = row.kind,
                     .least = words.range.least,
                     .most = words.range.most,
                     .choices = row.choices != nullptr ? row.choices() : std::vector<std::string>(),
                     .value = std::string(words.value),
                     .preset = row.text != nullptr ? row.text(Options{}) : std::string(),
                     .help = std::string(words.help),
                     .alias = std::string(words.aliases),
                     .repeatable = words.repeatable});
  }
}

template <class Options>
std::vector<DecidingOption> deciding(const Options& options, std::span<const Row<Options>> rows) {
  std::vector<DecidingOption> texts;
  for (const Row<Options>& row : rows) {
    if (!row.words.decides) continue;
    std::string text = row.text(options);
    if (!row.words.only_if_set || text != row.text(Options{}))
      texts.emplace_back(row.words.name, std::move(text));
  }
  return texts;
}

constexpr std::array<std::pair<std::string_view, OptionSet>, 13> sets{
    {{"fit", OptionSet::fit},
     {"predict", OptionSet::predict},
     {"smooths", OptionSet::smooths},
     {"derivatives", OptionSet::derivatives},
     {"simulate", OptionSet::simulate},
     {"check", OptionSet::check},
     {"residuals", OptionSet::residuals},
     {"many", OptionSet::many},
     {"curves", OptionSet::curves},
     {"curve-values", OptionSet::curve_values},
     {"table", OptionSet::table},
     {"arrow", OptionSet::arrow},
     {"job", OptionSet::job}}};

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const auto& [word, set] : sets) {
    for (const OptionInfo& one : options_of(set)) {
      names.push_back(one.name);
      if (!one.alias.empty()) names.push_back(one.alias);
    }
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string without_quotes(const std::string& text) {
  if (text.size() < 2 || text.front() != text.back() ||
      std::string_view("\"'`").find(text.front()) == std::string_view::npos)
    return text;
  return text.substr(1, text.size() - 2);
}

}  // namespace

std::vector<OptionInfo> options_of(OptionSet set) {
  std::vector<OptionInfo> infos;
  for_each_table(set, [&](const auto& rows) { add_infos(infos, rows); });
  return infos;
}

void check_option(OptionSet set, const NamedOption& given) {
  for_each_table(set, [&](const auto& rows) { check_alone(given, rows); });
}

std::string options_json() {
  constexpr std::array<const char*, 8> kinds{"flag",   "integer", "number",  "size",
                                             "choice", "text",    "numbers", "names"};
  nlohmann::ordered_json table;
  for (const auto& [word, set] : sets) {
    nlohmann::ordered_json& rows = table[std::string(word)];
    for (const OptionInfo& one : options_of(set)) {
      nlohmann::ordered_json row{{"name", one.name},
                                 {"kind", kinds[static_cast<std::size_t>(one.kind)]},
                                 {"default", one.preset},
                                 {"help", one.help},
                                 {"repeatable", one.repeatable}};
      if (std::isfinite(one.least)) row["least"] = one.least;
      if (std::isfinite(one.most)) row["most"] = one.most;
      if (!one.choices.empty()) row["choices"] = one.choices;
      if (!one.alias.empty()) row["alias"] = one.alias;
      rows.push_back(std::move(row));
    }
  }
  return table.dump();
}

std::vector<DecidingOption> deciding_options(const FitOptions& options) {
  return deciding<FitOptions>(options, of_fits);
}

std::vector<DecidingOption> deciding_options(const TableOptions& options) {
  return deciding<TableOptions>(options, of_tables);
}

void read_options(std::span<NamedOption> given, FitOptions& options) {
  read<FitOptions>(given, options, of_fits);
}
void read_options(std::span<NamedOption> given, PredictOptions& options) {
  read<PredictOptions>(given, options, of_predictions);
}
void read_options(std::span<NamedOption> given, SmoothOptions& options) {
  read<SmoothOptions>(given, options, of_smooths);
}
void read_options(std::span<NamedOption> given, DerivativeOptions& options) {
  read<SmoothOptions>(given, options, of_smooths);
  read<DerivativeOptions>(given, options, of_derivatives);
}
void read_options(std::span<NamedOption> given, SimulateOptions& options) {
  read<SimulateOptions>(given, options, of_simulations);
}
void read_options(std::span<NamedOption> given, CheckOptions& options) {
  read<CheckOptions>(given, options, of_checks);
}
void read_options(std::span<NamedOption> given, ResidualOptions& options) {
  read<ResidualOptions>(given, options, of_residuals);
}
void read_options(std::span<NamedOption> given, ManyOptions& options) {
  read<ManyOptions>(given, options, of_many);
}
void read_options(std::span<NamedOption> given, Responses& options) {
  read<Responses>(given, options, of_responses);
}
void read_options(std::span<NamedOption> given, CurveTestOptions& options) {
  read<CurveTestOptions>(given, options, of_curves);
}
void read_options(std::span<NamedOption> given, CurveValueOptions& options) {
  read<CurveValueOptions>(given, options, of_curve_values);
}
void read_options(std::span<NamedOption> given, TableOptions& options) {
  read<TableOptions>(given, options, of_tables);
}
void read_options(std::span<NamedOption> given, ArrowOptions& options) {
  read<ArrowOptions>(given, options, of_arrow);
}
void read_options(std::span<NamedOption> given, JobOptions& options) {
  read<JobOptions>(given, options, of_jobs);
}

void refuse_unknown_options(std::span<const NamedOption> given, std::string_view call) {
  const auto unread = std::ranges::find(given, false, &NamedOption::is_read);
  if (unread == given.end()) return;
  const std::vector<std::string> names = all_names();
  const std::string name = plain_name(unread->name);
  throw Error(ErrorCode::usage,
              std::ranges::find(names, name) != names.end()
                  ? fmt::format("{} has no option '{}'", call, unread->name)
                  : fmt::format("there is no option '{}'{}", unread->name, base::did_you_mean(names, name)));
}

std::vector<ChosenValues> chosen_values(const std::string& text, std::string_view option) {
  std::vector<ChosenValues> chosen;
  for (const std::string& one : labels_in(text, ';')) {
    if (one.empty()) continue;
    const std::size_t equals = one.find('=');
    if (equals == std::string::npos || equals == 0)
      throw base::usage_error("{}: '{}' does not have the form name=values: write, for example, x=1,2,3",
                              option, one);
    ChosenValues values{without_quotes(one.substr(0, equals)), {}};
    for (const std::string& value : labels_in(one.substr(equals + 1)))
      values.values.push_back(without_quotes(value));
    chosen.push_back(std::move(values));
  }
  return chosen;
}

std::vector<std::string> labels_in(std::string_view list, char separator) {
  std::vector<std::string> labels(1);
  int depth = 0;
  char quote = 0;
  for (const char c : list) {
    if (quote != 0) {
      quote = c == quote ? '\0' : quote;
    } else if (c == '"' || c == '\'' || c == '`') {
      quote = c;
    } else if (c == separator && depth == 0) {
      labels.emplace_back();
      continue;
    }
    depth += quote != 0 ? 0 : c == '(' ? 1 : c == ')' ? -1 : 0;
    if (!(labels.back().empty() && c == ' ')) labels.back() += c;
  }
  return labels;
}

}  // namespace TESSERA_NAMESPACE::gam
