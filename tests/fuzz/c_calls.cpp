// SPDX-License-Identifier: Apache-2.0
// Sequences of calls of the C interface of models never crash: in any order, with handles that are open,
// closed, of another kind or invalid, and with arrays of any size.
#include <tessera/tessera_gam.h>

#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "fuzz_target.hpp"
#include "support/arrow_data.hpp"

namespace {

using namespace tessera;
using fuzz::require;
using fuzz::take_byte;
using gam::testing::ArrowData;

enum class Kind { table, model, answer };

constexpr std::array columns{"x", "z", "f", "y", "", "x y", "\xff", "a.long.name.of.a.column"};
constexpr std::array formulas{"y ~ x",
                              "y ~ s(x, k=4)",
                              "y ~ f + s(x, bs='cr', k=4)",
                              "y ~ s(x, by=f, k=4)",
                              "y ~ s(f, bs='re')",
                              "y ~ te(x, z, k=3)",
                              "y ~ s(x, f, bs='fs', k=3)",
                              "y ~ .",
                              "f ~ x",
                              "y ~ s(x, k=400)",
                              "y ~ (((",
                              "y ~ 0",
                              "y ~ 0 + offset(x)",
                              "y ~ s(x, bs='cs', k=4) + s(f, z, bs='re')"};
/// Of many models, without a response.
constexpr std::array terms{"x",     "1",  "s(x, k=4)", "f + s(x, bs='cr', k=4)", "s(x, by=f, k=4)",
                           "y ~ x", "((("};
constexpr std::array options{
    "family",        "link",       "gamma",          "select",  "knots",  "sp",         "weights",
    "type",          "se.fit",     "terms",          "exclude", "keep",   "new-levels", "interval",
    "draws",         "points",     "seed",           "order",   "at",     "subset",     "offset",
    "unconditional", "block-rows", "max-iterations", "column",  "levels", "covariances"};
constexpr std::array option_values{
    "poisson", "binomial", "nb", "log", "1", "2.5", "true", "x=0,1", "x",     "response", "terms", "s(x)",
    "iterms",  "lpmatrix", "na", "0.9", "3", "-1",  "x,f",  "f",     "x > 0", "nan",      "f=a,b"};
constexpr std::array values{"coefficients", "covariance", "edf",  "sp",     "AIC",          "n",
                            "edf2_total",   "none",       "rank", "sample", "reml_hessian", "block_terms"};

/// Makes calls according to the bytes of an input.
class Calls {
 public:
  explicit Calls(std::string_view input) : input_(input) {}
  ~Calls() {
    require(tessera_gam_shutdown() == TESSERA_GAM_OK, "the library shuts down:", tessera_gam_error());
    require(counts_.released == counts_.made, "what was Arrow's is released");
  }
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  void run() {
    // Inputs of a few calls are explored more than inputs of many.
    for (int call = 0; call < 24 && !input_.empty(); ++call) one();
  }

 private:
  template <class List>
  [[nodiscard]] const char* pick(const List& list) {
    const unsigned byte = take_byte(input_);
    if (byte < 250) return list[byte % list.size()];
    if (byte == 250) return nullptr;
    // A text of the input.
    const std::size_t end = std::min(input_.find('\n'), input_.size());
    text_.assign(input_.substr(0, end));
    input_.remove_prefix(std::min(end + 1, input_.size()));
    return text_.c_str();
  }

  /// A handle: most often an open one of the kind.
  [[nodiscard]] std::uint64_t handle(Kind kind) {
    const unsigned byte = take_byte(input_);
    std::vector<std::uint64_t> of_kind;
    for (const auto& [open, its] : open_)
      if (its == kind) of_kind.push_back(open);
    if (byte < 200 && !of_kind.empty()) return of_kind[byte % of_kind.size()];
    if (byte < 250 && !given_.empty()) return given_[byte % given_.size()];
    if (byte < 253) return 0;
    const std::uint64_t some = given_.empty() ? 1 : given_.back();
    return some ^ (std::uint64_t{1} << (take_byte(input_) % 64));
  }
  [[nodiscard]] bool is_open(std::uint64_t one, Kind kind) const {
    const auto found = open_.find(one);
    return found != open_.end() && found->second == kind;
  }

  /// The invariants of every call.
  int held(int status) {
    switch (status) {
      case TESSERA_GAM_OK: return status;
      case TESSERA_GAM_USAGE:
      case TESSERA_GAM_INPUT:
      case TESSERA_GAM_NOT_CONVERGED:
      case TESSERA_GAM_INTERRUPTED: break;
      default: require(false, "no call is a fault:", tessera_gam_error());
    }
    tessera_gam_error_info info{};
    info.size = sizeof info;
    require(tessera_gam_last_error(&info) == TESSERA_GAM_OK, "an error is told");
    require(info.status == status && *info.message != '\0', "an error has its kind and a text");
    require(std::string_view(info.message).find('\n') == std::string_view::npos,
            "an error is one line:", info.message);
    require(std::string_view(info.function).starts_with("tessera_gam_"), "an error has its function");
    return status;
  }
  /// A call with handles, which is refused unless all are open.
  int held(int status, bool all_open) {
    if (!all_open) require(held(status) == TESSERA_GAM_USAGE, "only open handles are taken");
    return held(status);
  }
  // By reference: `made` may be an argument of the call that makes `status`, and arguments are evaluated in
  // any order.
  void add(int status, Kind kind, const std::uint64_t& made) {
    if (status != TESSERA_GAM_OK) return;
    require(made != 0 && open_.emplace(made, kind).second, "a new handle is new");
    given_.push_back(made);
  }

  /// Options, and sometimes callbacks.
  [[nodiscard]] const tessera_gam_call* call() {
    const unsigned count = take_byte(input_) % 4;
    option_list_ = {{"threads", "1"}, {"device", "cpu"}};
    texts_.clear();
    for (unsigned i = 0; i < count; ++i) {
      const char* const name = pick(options);
      texts_.emplace_back(name != nullptr ? name : "");
      const char* const value = pick(option_values);
      texts_.emplace_back(value != nullptr ? value : "");
    }
    for (std::size_t i = 0; i < texts_.size(); i += 2)
      option_list_.push_back({texts_[i].c_str(), texts_[i + 1].c_str()});
    call_ = TESSERA_GAM_CALL;
    call_.options = option_list_.data();
    call_.option_count = option_list_.size();
    left_ = static_cast<int>(take_byte(input_));
    if (left_ >= 192) return &call_;
    if (left_ < 16) {
      call_.size = static_cast<std::size_t>(left_) * 8;
      return &call_;
    }
    if (left_ >= 64) return &call_;
    call_.context = this;
    call_.cancelled = [](void* self) { return static_cast<Calls*>(self)->left_-- < 20 ? 1 : 0; };
    call_.progress = [](std::int32_t, const char*, void* self) {
      require(tessera_gam_shutdown() == TESSERA_GAM_USAGE, "no shutdown within a call");
      static_cast<Calls*>(self)->left_--;
    };
    return &call_;
  }

  /// The number of elements, or a wrong one.
  [[nodiscard]] std::size_t size_near(std::size_t right) {
    const unsigned byte = take_byte(input_);
    return byte < 192 ? right : byte < 224 ? byte % 8 : right + byte % 4;
  }

  void open_table() {
    std::uint64_t table = 0;
    const auto rows = static_cast<std::int64_t>(take_byte(input_) % 60);
    add(held(tessera_gam_table_open(rows, nullptr, &table)), Kind::table, table);
    if (table != 0) rows_[table] = static_cast<std::size_t>(rows);
  }

  void add_column(bool factor) {
    const std::uint64_t table = handle(Kind::table);
    const std::size_t rows = rows_.contains(table) ? rows_.at(table) : 3;
    const std::size_t count = size_near(rows);
    const char* const name = pick(columns);
    const unsigned kind = take_byte(input_);
    std::vector<double>& numbers = numbers_.emplace_back(count);
    std::vector<std::int32_t>& codes = codes_.emplace_back(count);
    constexpr std::array levels{"a", "b", "c", "", "\xfe"};
    for (std::size_t i = 0; i < count; ++i) {
      const unsigned byte = i % 5 == 0 ? take_byte(input_) : kind;
      const double at = std::fmod(0.618034 * static_cast<double>(i + 1) * (1 + kind % 7), 1);
      numbers[i] = kind % 8 == 1   ? std::floor(4 * at)
                   : byte == 255   ? std::numeric_limits<double>::quiet_NaN()
                   : byte == 254   ? std::numeric_limits<double>::infinity()
                   : kind % 8 == 2 ? 1e300 * at
                                   : at;
      codes[i] = static_cast<std::int32_t>(byte == 255 ? byte : (i + kind) % 4) - 1;
    }
    const std::size_t level_count = kind % 6;
    const int status = factor ? tessera_gam_table_add_factor(table, name, codes.data(), count, levels.data(),
                                                             std::min(level_count, levels.size()), kind % 4)
                       : kind % 16 == 9 ? tessera_gam_table_add_integers(table, name, codes.data(), count)
                                        : tessera_gam_table_add_numbers(table, name, numbers.data(), count);
    if (held(status, is_open(table, Kind::table)) == TESSERA_GAM_OK)
      require(count == rows, "a column has the rows of its table");
  }

  /// Values of this many rows: numbers, texts or codes, or lists, which no table has. The arrays of a column
  /// have one kind: structures do not contain the sizes of buffers.
  [[nodiscard]] static ArrowData arrow_column(unsigned kind, std::size_t rows) {
    const std::size_t offset = kind % 3;
    const auto values = [&]<class T>(int distinct) {
      std::vector<std::optional<T>> all(rows);
      for (std::size_t i = 0; i < rows; ++i) {
        if ((i + kind) % 16 != 9) all[i] = static_cast<T>(static_cast<int>(7 * i + kind) % 11 % distinct);
      }
      return all;
    };
    const auto texts = [&](std::initializer_list<std::optional<std::string>> all) {
      return gam::testing::texts_of<std::int32_t>("", "u", all);
    };
    switch (kind / 3 % 6) {
      case 0: return gam::testing::numbers_of<double>("", "g", values.operator()<double>(11), offset);
      case 1:
        return gam::testing::numbers_of<std::int16_t>("", "s", values.operator()<std::int16_t>(11), offset);
      case 2: return gam::testing::truths_of("", values.operator()<bool>(2), offset);
      case 3:
        return gam::testing::coded_of<std::int32_t>("", "i", values.operator()<std::int32_t>(3),
                                                    texts({"b", "a", std::nullopt}), offset);
      case 4:
        return gam::testing::coded_of<std::int32_t>("", "i", values.operator()<std::int32_t>(3),
                                                    texts({"a", "", "c"}), offset);
      default: return gam::testing::numbers_of<double>("", "+l", values.operator()<double>(3), offset);
    }
  }

  /// An impossible count, offset or flag in a structure.
  template <class Structure>
  void lie(Structure& structure) {
    constexpr std::array lies{std::numeric_limits<std::int64_t>::max(), std::int64_t{1} << 56,
                              std::numeric_limits<std::int64_t>::min(), std::int64_t{-2}};
    const std::int64_t one = lies[take_byte(input_) % lies.size()];
    const unsigned field = take_byte(input_) % 6;
    if constexpr (std::is_same_v<Structure, ArrowSchema>) {
      if (field == 0) structure.n_children = one;
      if (field == 1) structure.format = nullptr;
      if (field >= 2) structure.flags = one;
    } else {
      if (field == 0) structure.length = one;
      if (field == 1) structure.null_count = one;
      if (field == 2) structure.offset = one;
      if (field == 3) structure.n_buffers = one;
      if (field == 4) structure.n_children = one;
      if (field == 5) structure.buffers = nullptr;
    }
  }

  void add_arrow(bool lies = false) {
    const std::uint64_t table = handle(Kind::table);
    const std::size_t rows = size_near(rows_.contains(table) ? rows_.at(table) : 3);
    const std::size_t cut = rows > 0 ? take_byte(input_) % rows : 0;
    const unsigned kind = take_byte(input_);
    const std::array chunks{arrow_column(kind, cut), arrow_column(kind, rows - cut)};
    ArrowSchema schema = gam::testing::schema_of(chunks[0], counts_);
    schema.flags = kind % 2 == 0 ? ARROW_FLAG_NULLABLE : ARROW_FLAG_DICTIONARY_ORDERED;
    std::array arrays{gam::testing::array_of(chunks[0], counts_), gam::testing::array_of(chunks[1], counts_)};
    const char* const name = pick(columns);
    const std::size_t count = take_byte(input_) % 8 == 0 ? 1 : 2;
    if (lies) {
      const unsigned which = take_byte(input_) % 4;
      if (which == 3) {
        require(held(tessera_gam_table_add_arrow(table, name, &schema, arrays.data(), SIZE_MAX)) ==
                    TESSERA_GAM_USAGE,
                "an impossible count is not followed");
        for (ArrowArray& array : arrays) array.release(&array);
        return;
      }
      if (which == 0)
        lie(schema);
      else
        lie(arrays[which - 1]);
    }
    const int status = tessera_gam_table_add_arrow(table, name, &schema, arrays.data(), count);
    if (count == 1) arrays[1].release(&arrays[1]);
    require(schema.release == nullptr && arrays[0].release == nullptr && arrays[1].release == nullptr,
            "what is handed over is marked as released");
    if (held(status, is_open(table, Kind::table)) == TESSERA_GAM_OK && rows_.contains(table) && !lies)
      require((count == 1 ? cut : rows) == rows_.at(table), "a column has the rows of its table");
  }

  void table_of_arrow() {
    const unsigned batches = 1 + take_byte(input_) % 3;
    const unsigned width = take_byte(input_) % 4;
    std::vector<std::pair<std::string, unsigned>> column(width);
    for (auto& [name, kind] : column) {
      const char* const picked = pick(columns);
      name = picked != nullptr ? picked : "";
      kind = take_byte(input_);
    }
    gam::testing::ArrowStreamData stream{.batches = {}, .counts = &counts_};
    std::size_t rows = 0;
    for (unsigned b = 0; b < batches; ++b) {
      const std::size_t length = take_byte(input_) % 30;
      rows += length;
      std::vector<ArrowData> all;
      for (const auto& [name, kind] : column) {
        all.push_back(arrow_column(kind, length));
        all.back().name = name;
      }
      stream.batches.push_back(gam::testing::batch_of(std::move(all)));
      stream.batches.back().length = static_cast<std::int64_t>(length);
    }
    const unsigned fails_at = take_byte(input_);
    if (fails_at < 8) stream.fails_at = fails_at;
    ArrowArrayStream from = gam::testing::stream_of(std::move(stream));
    const tessera_gam_call* const given = call();
    std::uint64_t table = 0;
    const int status = held(tessera_gam_table_of_arrow(&from, given, &table));
    require(from.release == nullptr, "a stream is released");
    add(status, Kind::table, table);
    if (status == TESSERA_GAM_OK) rows_[table] = rows;
  }

  /// Impossible counts in a call and in arrays, which are not followed.
  void lie_about_counts() {
    const std::uint64_t table = handle(Kind::table);
    const std::uint64_t model = handle(Kind::model);
    const std::size_t count = SIZE_MAX >> (take_byte(input_) % 20);
    tessera_gam_call lying = TESSERA_GAM_CALL;
    const tessera_gam_option option{"threads", "1"};
    lying.options = &option;
    lying.option_count = count;
    std::uint64_t made = 0;
    const char* text = nullptr;
    const std::int32_t code = 0;
    const char* const level = "a";
    for (const int status :
         {tessera_gam_predict(model, table, &lying, &made), tessera_gam_table_open(3, &lying, &made),
          tessera_gam_table_add_factor(table, "f", &code, 1, &level, count, TESSERA_GAM_LEVELS_ORDERED),
          tessera_gam_table_add_numbers(table, "x", numbers_.emplace_back(1).data(), count),
          tessera_gam_model_from_json("{}", count, &made),
          tessera_gam_anova(&model, count, "auto", TESSERA_GAM_TEXT, &text, nullptr)})
      require(held(status) == TESSERA_GAM_USAGE, "an impossible count is refused:", tessera_gam_error());
  }

  void close() {
    const auto kind = static_cast<Kind>(take_byte(input_) % 3);
    const std::uint64_t closed = handle(kind);
    const int status = kind == Kind::table   ? tessera_gam_table_close(closed)
                       : kind == Kind::model ? tessera_gam_model_close(closed)
                                             : tessera_gam_answer_close(closed);
    require((held(status) == TESSERA_GAM_OK) == is_open(closed, kind), "what is open is closed, once");
    if (status == TESSERA_GAM_OK) open_.erase(closed);
  }

  void fit() {
    const std::uint64_t table = handle(Kind::table);
    const char* const formula = pick(formulas);
    const std::string kept = formula != nullptr ? formula : "";
    std::uint64_t model = 0;
    const int status = tessera_gam_fit(formula != nullptr ? kept.c_str() : nullptr, table, call(), &model);
    add(held(status, is_open(table, Kind::table)), Kind::model, model);
  }

  /// Matrices of any numbers, indices and strides, in arrays that are as long as is said.
  void fit_many() {
    const std::uint64_t table = handle(Kind::table);
    const std::size_t rows = size_near(rows_.contains(table) ? rows_.at(table) : 3);
    const std::size_t width = take_byte(input_) % 4;
    const std::size_t count = size_near(rows * width);
    const unsigned kind = take_byte(input_);
    std::vector<double> numbers(count);
    std::vector<std::int64_t> indices(count);
    std::vector<std::int64_t> begins(std::max(rows, width) + 1);
    // Most often indices of a matrix by rows, and else of one by columns or of neither.
    const std::size_t outside = kind % 4 < 3 ? std::max<std::size_t>(width, 1) : std::max(rows, width) + 1;
    for (std::size_t i = 0; i < count; ++i) {
      const unsigned byte = i % 5 == 0 ? take_byte(input_) : kind;
      numbers[i] = byte == 255   ? std::numeric_limits<double>::quiet_NaN()
                   : byte == 254 ? 1e300
                                 : static_cast<double>((i * 7 + kind) % 5) / (byte % 16 == 0 ? 2 : 1);
      indices[i] = byte == 253 ? -1 : static_cast<std::int64_t>((i + kind % 2) % outside);
    }
    for (std::size_t i = 0; i < begins.size(); ++i)
      begins[i] = static_cast<std::int64_t>(std::min(i * (1 + kind % 3), count)) - (kind % 32 == 7 ? 1 : 0);
    tessera_gam_responses responses = TESSERA_GAM_RESPONSES;
    responses.layout = static_cast<std::int32_t>(take_byte(input_) % 4);
    const unsigned type = take_byte(input_);
    responses.value_type = static_cast<std::int32_t>(type < 192 ? 0 : type % 12);
    responses.index_type = type % 8 == 0 ? TESSERA_GAM_INT32 : TESSERA_GAM_INT64;
    responses.rows = static_cast<std::int64_t>(rows);
    responses.columns = static_cast<std::int64_t>(width);
    responses.values = numbers.data();
    responses.value_count = count;
    responses.row_stride = static_cast<std::int64_t>(size_near(width));
    responses.column_stride = kind % 16 == 3 ? std::numeric_limits<std::int64_t>::max() : 1;
    responses.indices = indices.data();
    responses.begins = begins.data();
    if (type % 16 == 5) responses.table = handle(Kind::table);
    const bool all_open =
        is_open(table, Kind::table) && (responses.table == 0 || is_open(responses.table, Kind::table));
    const char* const formula = pick(terms);
    const std::string kept = formula != nullptr ? formula : "";
    std::uint64_t fits = 0;
    std::uint64_t tests = 0;
    const int status = held(tessera_gam_fit_many(formula != nullptr ? kept.c_str() : nullptr, table,
                                                 &responses, call(), &fits, &tests),
                            all_open);
    add(status, Kind::answer, fits);
    add(status, Kind::answer, tests);
    std::uint64_t model = 0;
    const int status_of_model = held(tessera_gam_many_model(fits, "1", &model));
    std::uint64_t curves = 0;
    add(held(tessera_gam_many_curves(fits, nullptr, &curves)), Kind::answer, curves);
    add(held(tessera_gam_many_curve_values(fits, nullptr, &curves)), Kind::answer, curves);
    add(status_of_model, Kind::model, model);
  }

  void read_model() {
    const std::uint64_t model = handle(Kind::model);
    const char* const name = pick(values);
    const std::string kept = name != nullptr ? name : "";
    const char* const same = name != nullptr ? kept.c_str() : nullptr;
    std::size_t rows = 0;
    std::size_t width = 0;
    const int shaped = held(tessera_gam_model_shape(model, same, &rows, &width), is_open(model, Kind::model));
    const std::size_t count = size_near(rows * width);
    std::vector<double> copied(count);
    const int status = held(tessera_gam_model_values(model, same, copied.data(), count));
    require((status == TESSERA_GAM_OK) == (shaped == TESSERA_GAM_OK && count == rows * width),
            "values are copied to an array of their size");
    const char* text = nullptr;
    held(tessera_gam_model_text(model, same, take_byte(input_), &text));
    const auto form = static_cast<std::int32_t>(take_byte(input_) % 4);
    held(tessera_gam_summary(model, form, &text, nullptr), is_open(model, Kind::model));
    const std::array<std::uint64_t, 2> both{model, handle(Kind::model)};
    held(tessera_gam_anova(both.data(), take_byte(input_) % 3, "auto", form, &text, nullptr));
    std::int64_t crossing = 0;
    held(tessera_gam_crossing_rows(both.data(), take_byte(input_) % 3, handle(Kind::table), call(),
                                   &crossing));
  }

  void through_text() {
    const std::uint64_t model = handle(Kind::model);
    const char* text = nullptr;
    std::size_t length = 0;
    if (held(tessera_gam_model_to_json(model, &text, &length), is_open(model, Kind::model)) != TESSERA_GAM_OK)
      return;
    const std::string first(text, length);
    std::uint64_t again = 0;
    const int status = tessera_gam_model_from_json(first.data(), first.size(), &again);
    require(held(status) == TESSERA_GAM_OK, "a text of a model is read:", tessera_gam_error());
    add(status, Kind::model, again);
    require(tessera_gam_model_to_json(again, &text, &length) == TESSERA_GAM_OK && first == text,
            "the text of a model that was read is the same");
    const std::size_t cut = first.size() * (take_byte(input_) % 64) / 64;
    std::uint64_t none = 0;
    require(held(tessera_gam_model_from_json(first.data(), cut, &none)) == TESSERA_GAM_INPUT,
            "a part of a text is no model");
  }

  void ask() {
    const std::uint64_t model = handle(Kind::model);
    const std::uint64_t table = handle(Kind::table);
    const std::uint64_t other = handle(Kind::table);
    const bool has_model = is_open(model, Kind::model);
    const bool has_table = is_open(table, Kind::table);
    const unsigned which = take_byte(input_) % 12;
    const tessera_gam_call* const given = call();
    std::uint64_t made = 0;
    const char* text = nullptr;
    switch (which) {
      case 0:
      case 1:
        return add(held(tessera_gam_predict(model, table, given, &made), has_model && has_table),
                   Kind::answer, made);
      case 2: return add(held(tessera_gam_smooths(model, given, &made), has_model), Kind::answer, made);
      case 3: return add(held(tessera_gam_derivatives(model, given, &made), has_model), Kind::answer, made);
      case 4:
        return add(held(tessera_gam_level_differences(model, given, &made), has_model), Kind::answer, made);
      case 5:
        return add(held(tessera_gam_table_differences(model, table, other, given, &made),
                        has_model && has_table && is_open(other, Kind::table)),
                   Kind::answer, made);
      case 6:
        return add(held(tessera_gam_simulate_coefficients(model, given, &made), has_model), Kind::answer,
                   made);
      case 7:
        return add(held(tessera_gam_simulate_responses(model, table, given, &made), has_model && has_table),
                   Kind::answer, made);
      case 10:
        return add(held(tessera_gam_simulate_smooths(model, given, &made), has_model), Kind::answer, made);
      case 8:
        held(tessera_gam_check(model, table, given, TESSERA_GAM_JSON, &text, nullptr),
             has_model && has_table);
        return;
      case 11: {
        const char* const names[] = {pick(std::array{"x", "f", "q", "", "y"})};
        held(
            tessera_gam_columns(table, names, take_byte(input_) % 2, given, TESSERA_GAM_BOTH, &text, nullptr),
            has_table);
        return;
      }
      default: break;
    }
    const char* const at = pick(std::array{"x=0.1,0.5", "x=0.5;f=a", "f=q", "x", ""});
    const int status = tessera_gam_slice(model, at, &made, &text);
    add(held(status, has_model), Kind::table, made);
  }

  void read_answer() {
    const std::uint64_t answer = handle(Kind::answer);
    tessera_gam_answer_info extent{};
    extent.size = sizeof extent;
    if (held(tessera_gam_answer_extent(answer, &extent), is_open(answer, Kind::answer)) != TESSERA_GAM_OK)
      return;
    const std::size_t index = take_byte(input_) % (extent.columns + 2);
    tessera_gam_column_info column{};
    column.size = sizeof column;
    const int found = held(tessera_gam_answer_column(answer, index, &column));
    require((found == TESSERA_GAM_OK) == (index < extent.columns), "an answer has the columns that it has");
    const std::size_t count = size_near(extent.rows);
    std::vector<double> numbers(count);
    std::vector<std::int32_t> codes(count);
    const bool fits = found == TESSERA_GAM_OK && count == extent.rows;
    const int as_numbers = held(tessera_gam_answer_numbers(answer, index, numbers.data(), count));
    require((as_numbers == TESSERA_GAM_OK) == (fits && column.is_factor == 0), "numbers are copied as such");
    const int as_codes = held(tessera_gam_answer_codes(answer, index, codes.data(), count));
    require((as_codes == TESSERA_GAM_OK) == (fits && column.is_factor != 0), "codes are copied as such");
    const char* text = nullptr;
    for (const std::int32_t code : codes) {
      if (as_codes == TESSERA_GAM_OK && code >= 0)
        require(
            tessera_gam_answer_level(answer, index, static_cast<std::size_t>(code), &text) == TESSERA_GAM_OK,
            "a code has a level");
    }
    held(tessera_gam_answer_remark(answer, take_byte(input_) % 3, &text));
    const std::size_t all = size_near(extent.rows * (extent.columns - extent.kept));
    std::vector<double> whole(all);
    const int copied = held(tessera_gam_answer_matrix(answer, whole.data(), all));
    require((copied == TESSERA_GAM_OK) == (all == extent.rows * (extent.columns - extent.kept)),
            "a matrix is copied to an array of its size");
  }

  void one() {
    switch (take_byte(input_) % 12) {
      case 0: return open_table();
      case 1:
      case 2:
      case 3: return add_column(false);
      case 4: return add_column(true);
      case 5: return close();
      case 6: return fit();
      case 7: return read_model();
      case 8: return through_text();
      case 9: return ask();
      case 10: return read_answer();
      default: break;
    }
    const unsigned other = take_byte(input_) % 8;
    if (other == 1) return add_arrow();
    if (other == 2) return table_of_arrow();
    if (other == 3) return fit_many();
    if (other == 4) return lie_about_counts();
    if (other == 5) return add_arrow(true);
    if (other != 0) return;
    require(tessera_gam_shutdown() == TESSERA_GAM_OK, "the library shuts down:", tessera_gam_error());
    open_.clear();
  }

  std::string_view input_;
  std::string text_;
  gam::testing::ArrowCounts counts_;
  std::deque<std::vector<double>> numbers_;  // that tables are read from
  std::deque<std::vector<std::int32_t>> codes_;
  std::map<std::uint64_t, Kind> open_;
  std::vector<std::uint64_t> given_;
  std::map<std::uint64_t, std::size_t> rows_;
  std::vector<std::string> texts_;
  std::vector<tessera_gam_option> option_list_;
  tessera_gam_call call_ = TESSERA_GAM_CALL;
  int left_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Calls(fuzz::text_of(data, size)).run();
  return 0;
}
