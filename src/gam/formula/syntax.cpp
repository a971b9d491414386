// SPDX-License-Identifier: Apache-2.0
#include "gam/formula/syntax.hpp"

#include "base/number.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace TESSERA_NAMESPACE::gam {
namespace {

// Limits that prevent stack overflow: a chain of operators is a tree as deep as the chain is long.
constexpr int max_depth = 100;
constexpr int max_operators = 4096;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
// Whether a name may begin with this character; bytes above 127 are letters of UTF-8 names.
bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 128;
}
bool continues_name(char c) {
  return starts_name(c) || is_digit(c) || c == '.' || c == '_';
}

/// Constants, which can be names only within backquotes.
bool is_constant(std::string_view word) {
  constexpr std::array<std::string_view, 6> constants{"TRUE", "FALSE", "NULL", "NA", "NaN", "Inf"};
  return std::find(constants.begin(), constants.end(), word) != constants.end();
}

struct Token {
  enum class Kind { number, name, constant, text, op, end };
  Kind kind = Kind::end;
  std::string text;
  double number = 0;
  std::size_t position = 0;

  [[nodiscard]] bool is(std::string_view op) const { return kind == Kind::op && text == op; }
  [[nodiscard]] std::string described() const {
    return kind == Kind::end ? "the end of the formula" : fmt::format("'{}'", text);
  }
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Token next() {
    skip_blanks();
    Token token;
    token.position = at_;
    if (at_ == text_.size()) return token;
    const char c = text_[at_];
    if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) {
      number(token);
    } else if (starts_name(c) || c == '.') {
      token.kind = Token::Kind::name;
      take_name(token.text);
      if (text_.substr(at_, 2) == "::") {  // splines::ns
        token.text += "::";
        at_ += 2;
        take_name(token.text);
      }
      if (is_constant(token.text)) token.kind = Token::Kind::constant;
    } else if (c == '"' || c == '\'' || c == '`') {
      quoted(token, c);
    } else {
      op(token, c);
    }
    return token;
  }

 private:
  /// Also skips comments, from # to the end of the line.
  void skip_blanks() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '#' || (text_[at_] >= '\t' && text_[at_] <= '\r'))) {
      if (text_[at_] == '#')
        at_ = std::min(text_.find('\n', at_), text_.size());
      else
        ++at_;
    }
  }

  void take_name(std::string& name) {
    while (at_ < text_.size() && continues_name(text_[at_])) name += text_[at_++];
  }

  void number(Token& token) {
    token.kind = Token::Kind::number;
    std::string_view rest = text_.substr(at_);
    const auto number = base::take_number<double>(rest);
    if (!number)
      formula_error(at_,
                    "this number is outside the range of double precision: write a number within the range");
    token.number = *number;
    at_ = text_.size() - rest.size();
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;
    token.text = text_.substr(token.position, at_ - token.position);
    if (at_ < text_.size() && continues_name(text_[at_]))
      formula_error(at_, "'{}' follows a number: write an operator between them", text_[at_]);
  }

  void quoted(Token& token, char quote) {
    token.kind = quote == '`' ? Token::Kind::name : Token::Kind::text;
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      token.text += text_[at_];
    }
    if (at_ == text_.size()) formula_error(token.position, "the quote {} is not closed: close it", quote);
    ++at_;
    if (token.text.empty() && quote == '`')
      formula_error(token.position, "the name between backticks is empty: write one");
  }

  void op(Token& token, char c) {
    token.kind = Token::Kind::op;
    constexpr std::array<std::string_view, 7> long_ones{"<=", ">=", "==", "!=", "%%", "%/%", "%in%"};
    const auto* const found = std::find_if(long_ones.begin(), long_ones.end(), [&](std::string_view one) {
      return text_.substr(at_, one.size()) == one;
    });
    if (text_.substr(at_, 2) == "**") {  // R reads it as ^
      token.text = "^";
      at_ += 2;
    } else if (text_.substr(at_, 2) == "<-") {
      formula_error(at_, "'<-' assigns in R: write a comparison as x < -1");
    } else if (c == '$') {
      formula_error(at_, "'$' takes a column of a table in R: write a column by its name only");
    } else if (found != long_ones.end()) {
      token.text = *found;
      at_ += found->size();
    } else if (std::string_view("+-*/^:~(),=<>!&|").find(c) != std::string_view::npos) {
      token.text = c;
      ++at_;
    } else {
      formula_error(at_, "'{}' has no meaning in a formula: leave it out", c);
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

class Parser {
 public:
  explicit Parser(std::string_view text)
      : lexer_(text), token_(lexer_.next()), begins_list_(token_.text == "list") {}

  Syntax whole() {
    Syntax result = binary(0);
    if (token_.kind != Token::Kind::end) unexpected("an operator");
    return result;
  }

 private:
  // Left-associative operators, weakest first, with blanks around each; the negation is a prefix.
  static constexpr std::array<std::string_view, 9> levels{
      " ~ ", " | ", " & ", " ! ", " < > <= >= == != ", " + - ", " * / ", " %% %/% %in% ", " : "};
  static constexpr std::size_t negation = 3;

  [[nodiscard]] bool is_at(std::size_t level) const {
    return token_.kind == Token::Kind::op &&
           levels[level].find(fmt::format(" {} ", token_.text)) != std::string_view::npos;
  }

  Syntax binary(std::size_t level) {
    if (level == levels.size()) return unary();
    if (level == negation) {
      if (!is_at(level)) return binary(level + 1);
      const Deeper deeper(*this);
      const Token op = advance();
      return node(Syntax::Kind::unary, op, binary(level));
    }
    if (level == 0 && token_.is("~")) return one_sided();
    Syntax left = binary(level + 1);
    while (is_at(level)) {
      if (++operators_ > max_operators)
        formula_error(token_.position, "the formula has more than {} operators: write fewer", max_operators);
      const Token op = advance();
      Syntax right = binary(level + 1);
      left = node(Syntax::Kind::binary, op, std::move(left), std::move(right));
    }
    return left;
  }

  /// A formula without response, which only a list of formulas may have.
  Syntax one_sided() {
    if (!begins_list_)
      formula_error(token_.position, "the response before '~' is missing: write response ~ terms");
    const Deeper deeper(*this);
    const Token op = advance();
    return node(Syntax::Kind::unary, op, binary(1));
  }

  Syntax unary() {
    if (is_at(negation)) return binary(negation);  // in R, a + !b > c is a + !(b > c)
    if (!token_.is("+") && !token_.is("-")) return power();
    const Deeper deeper(*this);
    const Token op = advance();
    return node(Syntax::Kind::unary, op, unary());
  }

  Syntax power() {
    Syntax base = primary();
    if (!token_.is("^")) return base;
    const Deeper deeper(*this);
    const Token op = advance();
    Syntax exponent = unary();  // right-associative; x^-1 is allowed
    return node(Syntax::Kind::binary, op, std::move(base), std::move(exponent));
  }

  Syntax primary() {
    const Deeper deeper(*this);
    switch (token_.kind) {
      case Token::Kind::number: {
        const Token token = advance();
        Syntax result = node(Syntax::Kind::number, token);
        result.number = token.number;
        return result;
      }
      case Token::Kind::constant: return node(Syntax::Kind::constant, advance());
      case Token::Kind::text: return node(Syntax::Kind::text, advance());
      case Token::Kind::name: {
        const Token name = advance();
        return token_.is("(") ? call(name) : node(Syntax::Kind::name, name);
      }
      default: break;
    }
    if (!token_.is("(")) unexpected("a variable, a number or '('");
    const Token open = advance();
    Syntax result = node(Syntax::Kind::group, open, binary(0));
    close(open);
    return result;
  }

  Syntax call(const Token& name) {
    const Token open = advance();
    Syntax result = node(Syntax::Kind::call, name);
    while (!token_.is(")")) {
      std::string argument_name;
      Syntax value = binary(0);
      if (token_.is("=")) {
        if (value.kind != Syntax::Kind::name)
          formula_error(value.position, "the text before '=' is not a name: write argument = value");
        argument_name = value.text;
        advance();
        value = binary(0);
      }
      result.children.push_back(std::move(value));
      result.argument_names.push_back(std::move(argument_name));
      if (!token_.is(",")) break;
      advance();
      if (token_.is(")")) unexpected("an argument");
    }
    close(open);
    return result;
  }

  void close(const Token& open) {
    if (token_.kind == Token::Kind::end)
      formula_error(open.position, "the parenthesis '(' is not closed: close it");
    if (!token_.is(")")) unexpected("')'");
    advance();
  }

  Token advance() { return std::exchange(token_, lexer_.next()); }

  [[noreturn]] void unexpected(std::string_view expected) {
    formula_error(token_.position, "{} is not valid here: write {}", token_.described(), expected);
  }

  static Syntax node(Syntax::Kind kind, const Token& token) {
    Syntax result;
    result.kind = kind;
    result.text = token.text;
    result.position = token.position;
    return result;
  }
  template <class... Children>
  static Syntax node(Syntax::Kind kind, const Token& token, Children... children) {
    Syntax result = node(kind, token);
    (result.children.push_back(std::move(children)), ...);
    return result;
  }

  struct Deeper {
    explicit Deeper(Parser& p) : parser(p) {
      if (++parser.depth_ > max_depth)
        formula_error(parser.token_.position, "the formula is nested more than {} deep: simplify it",
                      max_depth);
    }
    ~Deeper() { --parser.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    Parser& parser;
  };

  Lexer lexer_;
  Token token_;
  bool begins_list_;
  int depth_ = 0;
  int operators_ = 0;
};

bool is_syntactic(std::string_view name) {
  constexpr std::array<std::string_view, 19> reserved{
      "if",    "else",        "repeat",   "while",         "function", "for", "next",
      "break", "TRUE",        "FALSE",    "NULL",          "Inf",      "NaN", "NA",
      "in",    "NA_integer_", "NA_real_", "NA_character_", "..."};
  if (std::find(reserved.begin(), reserved.end(), name) != reserved.end()) return false;
  const bool good_start =
      starts_name(name[0]) || (name[0] == '.' && (name.size() == 1 || !is_digit(name[1])));
  return good_start && std::all_of(name.begin(), name.end(), continues_name);
}

// Prints the fewest digits that determine the value, because models are read back from text. R prints the
// same if 15 digits suffice, and otherwise fewer digits. Exponential notation is used only if it is shorter.
std::string deparse_number(double value) {
  int digits = 1;
  std::string shortest = fmt::format("{:.0e}", value);
  while (digits < std::numeric_limits<double>::max_digits10 && base::parse_number<double>(shortest) != value)
    shortest = fmt::format("{:.{}e}", value, digits++);
  const int exponent = base::decimal_exponent(shortest);
  const std::string fixed = fmt::format("{:.{}f}", value, std::max(0, digits - 1 - exponent));
  return fixed.size() <= shortest.size() ? fixed : shortest;
}

/// Quotes a text so that parsing gives it back unchanged.
std::string in_quotes(std::string_view text, char quote) {
  std::string result(1, quote);
  for (const char c : text) {
    if (c == quote || c == '\\') result += '\\';
    result += c;
  }
  return result + quote;
}

std::string deparse_name(const std::string& name) {
  return is_syntactic(name) ? name : in_quotes(name, '`');
}

/// Function name, optionally namespaced (splines::ns).
std::string deparse_function(const std::string& name) {
  const std::size_t colons = name.find("::");
  if (colons == std::string::npos || colons == 0 || colons + 2 == name.size()) return deparse_name(name);
  const bool plain = is_syntactic(name.substr(0, colons)) && is_syntactic(name.substr(colons + 2));
  return plain ? name : deparse_name(name);
}

}  // namespace

Syntax parse_syntax(std::string_view text) {
  return Parser(text).whole();
}

std::string deparse_text(std::string_view text) {
  return in_quotes(text, '"');
}

std::string deparse(const Syntax& syntax) {
  switch (syntax.kind) {
    case Syntax::Kind::number: return deparse_number(syntax.number);
    case Syntax::Kind::name: return deparse_name(syntax.text);
    case Syntax::Kind::constant: return syntax.text;
    case Syntax::Kind::text: return deparse_text(syntax.text);
    case Syntax::Kind::group: return "(" + deparse(syntax.children[0]) + ")";
    case Syntax::Kind::unary: return syntax.text + deparse(syntax.children[0]);
    case Syntax::Kind::binary: {
      constexpr std::array<std::string_view, 5> without_blanks{"/", "^", ":", "%%", "%/%"};
      const bool tight =
          std::find(without_blanks.begin(), without_blanks.end(), syntax.text) != without_blanks.end();
      const std::string_view blank = tight ? "" : " ";
      return fmt::format("{}{}{}{}{}", deparse(syntax.children[0]), blank, syntax.text, blank,
                         deparse(syntax.children[1]));
    }
    case Syntax::Kind::call: break;
  }
  std::string result = deparse_function(syntax.text) + "(";
  for (std::size_t i = 0; i < syntax.children.size(); ++i) {
    if (i > 0) result += ", ";
    if (!syntax.argument_names[i].empty()) result += deparse_name(syntax.argument_names[i]) + " = ";
    result += deparse(syntax.children[i]);
  }
  return result + ")";
}

}  // namespace TESSERA_NAMESPACE::gam
