// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tessera/gam/arrow.hpp>
#include <tessera/gam/check.hpp>
#include <tessera/gam/curves.hpp>
#include <tessera/gam/fit.hpp>
#include <tessera/gam/many.hpp>
#include <tessera/gam/posterior.hpp>
#include <tessera/gam/predict.hpp>
#include <tessera/gam/residuals.hpp>
#include <tessera/gam/table_options.hpp>
#include <tessera/job/job.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Options by name, with texts as values: for command lines, and for languages with named arguments.
namespace TESSERA_NAMESPACE::gam {

/// An option from a user. Names are those of tessera-fit's options and of mgcv's arguments; case does not
/// matter, '-', '.' and '_' are equivalent, and leading '-' are ignored: "max-iterations", "min.sp",
/// "AR.start", "--gamma".
///
/// Values are texts: a number; "true" or "false"; a list with commas, "0.6,-1"; a name. An option with
/// several entries may be given several times: "knots" with "month=0.5,12.5" and with "x=0,1"; otherwise the
/// last value counts.
struct NamedOption {
  std::string name;
  std::string value;
  bool is_read = false;  ///< whether the option was read; set by `read_options`
};

/// The kinds of call that have options.
enum class OptionSet : std::uint8_t {
  fit,
  predict,
  smooths,
  derivatives,
  simulate,
  check,
  residuals,
  many,
  curves,
  curve_values,
  table,
  arrow,
  job
};

enum class OptionKind : std::uint8_t {
  flag,     ///< true or false
  integer,  ///< a whole number
  number,
  size,    ///< bytes, such as 2G
  choice,  ///< one of several words
  text,
  numbers,  ///< a list with commas
  names     ///< a list with commas, of columns or terms
};

/// Description of an option, from which command lines, signatures and manuals are generated.
struct OptionInfo {
  std::string name;
  OptionKind kind = OptionKind::text;
  double least = 0;  ///< lower limit of a number; infinite: none
  double most = 0;   ///< upper limit of a number; infinite: none
  std::vector<std::string> choices{};
  std::string value{};   ///< name of the value in the help, such as "DIR"; empty: by `kind`
  std::string preset{};  ///< the default as a text; empty: none
  std::string help{};
  std::string alias{};  ///< another name of the option; empty: none
  bool repeatable = false;
};

/// The options of a kind of call, in the order of its help. `derivatives` includes the options of `smooths`;
/// `many` has the options of `ManyOptions` and of `Responses`.
[[nodiscard]] TESSERA_EXPORT std::vector<OptionInfo> options_of(OptionSet set);

/// Throws `Error(usage)` for a value that is invalid independent of other options. Does not check values of
/// the kinds `text` and `names`. Pure.
TESSERA_EXPORT void check_option(OptionSet set, const NamedOption& given);

/// All options as JSON: {"fit": [{"name": "gamma", "kind": "number", "default": "1", "help": …, "repeatable":
/// false, "least": 0.001, "most": 1000}, …], "predict": …}; "choices" and "alias" only if the option has
/// them.
[[nodiscard]] TESSERA_EXPORT std::string options_json();

/// Sets the members of `options` that are given by name (`options_of` lists the names), and marks these
/// options as read. The option "family" may be the name of a file, "@FILE"; "rho" is a number or "auto";
/// "levels" and "ordered" are lists by column, "dose=low,mid,high". A level in double quotes may contain ','
/// and '=', and "" for a quote.
///
/// Sizes in bytes may end in K, M, G or T, which are powers of 1024. Throws `Error(usage)`, with name and
/// value, for an invalid value, and as `family` and the functions that take the options do. Pure, except for
/// "family" with the name of a file.
TESSERA_EXPORT void read_options(std::span<NamedOption> given, FitOptions& options);
TESSERA_EXPORT void read_options(std::span<NamedOption> given, PredictOptions& options);
TESSERA_EXPORT void read_options(std::span<NamedOption> given, SmoothOptions& options);
TESSERA_EXPORT void read_options(std::span<NamedOption> given, DerivativeOptions& options);
TESSERA_EXPORT void read_options(std::span<NamedOption> given, SimulateOptions& options);
TESSERA_EXPORT void read_options(std::span<NamedOption> given, CheckOptions& options);
TESSERA_EXPORT void read_options(std::span<NamedOption> given, ResidualOptions& options);
TESSERA_EXPORT void read_options(std::span<NamedOption> given, ManyOptions& options);
TESSERA_EXPORT void read_options(std::span<NamedOption> given, Responses& options);
TESSERA_EXPORT void read_options(std::span<NamedOption> given, CurveTestOptions& options);
TESSERA_EXPORT void read_options(std::span<NamedOption> given, CurveValueOptions& options);
TESSERA_EXPORT void read_options(std::span<NamedOption> given, TableOptions& options);
TESSERA_EXPORT void read_options(std::span<NamedOption> given, ArrowOptions& options);
TESSERA_EXPORT void read_options(std::span<NamedOption> given, JobOptions& options);

/// Throws `Error(usage)` for the first option that was not read, and suggests the nearest name. `call` names
/// the kind of call in the message, e.g. "a prediction".
TESSERA_EXPORT void refuse_unknown_options(std::span<const NamedOption> given, std::string_view call);

/// Parses values for `data_slice`, such as "x=1,2,3;g=a". Throws `Error(usage)`, which names `option`.
[[nodiscard]] TESSERA_EXPORT std::vector<ChosenValues> chosen_values(const std::string& text,
                                                                     std::string_view option = "at");

/// Splits a list, such as "s(x),te(x,z)", at separators outside of parentheses and quotes.
[[nodiscard]] TESSERA_EXPORT std::vector<std::string> labels_in(std::string_view list, char separator = ',');

}  // namespace TESSERA_NAMESPACE::gam
