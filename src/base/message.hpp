// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// Packs values into one message between ranks. A value is a number, a plain structure, a list or text of any
/// length, a pair, or a structure that passes its members to a function:
/// `void members(const auto& to) { to(a, b); }`. A list that cannot be resized, such as a span, must have the
/// same size on every rank.
///
///     base::broadcast_values(comm, 0, header.columns, header.quotes, size);
namespace tessera::base {

/// A message that is either written, or read from the front.
class Message {
 public:
  Message() = default;
  explicit Message(std::string_view read) : rest_(read), reads_(true) {}

  [[nodiscard]] const std::string& written() const noexcept { return written_; }
  /// Not inlined, to limit code size: every member of every structure calls it.
  [[gnu::noinline]] void move(void* bytes, std::size_t count) {
    if (!reads_) written_.append(static_cast<const char*>(bytes), count);
    if (!reads_ || count == 0) return;
    std::memcpy(bytes, rest_.data(), count);
    rest_.remove_prefix(count);
  }

 private:
  std::string written_;
  std::string_view rest_;
  bool reads_ = false;
};

/// A type whose object representation can be copied between ranks.
template <class Value>
constexpr bool is_plain =
    std::is_trivially_copyable_v<Value> && !std::is_pointer_v<Value> && !requires(Value & value) {
  value.data();
};

/// Appends `value` to a message that is written; sets `value` to the next value of a message that is read.
template <class Value>
void exchange(Message& message, Value& value) {
  if constexpr (requires { value.members([](auto&...) {}); }) {
    value.members([&](auto&... member) { (base::exchange(message, member), ...); });
  } else if constexpr (requires { value.second; }) {
    base::exchange(message, value.first);
    base::exchange(message, value.second);
  } else if constexpr (is_plain<Value>) {
    message.move(&value, sizeof value);
  } else {
    if constexpr (requires { value.resize(0); }) {
      std::size_t size = value.size();
      base::exchange(message, size);
      value.resize(size);
    }
    if constexpr (is_plain<typename Value::value_type>)
      message.move(value.data(), value.size() * sizeof(typename Value::value_type));
    else
      for (auto& element : value) base::exchange(message, element);
  }
}

/// *Collective.* Sets `values` to the values on rank `root`.
template <class Communicator, class... Values>
void broadcast_values(const Communicator& comm, int root, Values&&... values) {
  if (comm.size() == 1) return;
  Message mine;
  if (comm.rank() == root) (base::exchange(mine, values), ...);
  const std::string bytes = comm.broadcast_text(mine.written(), root);
  Message message(bytes);
  if (comm.rank() != root) (base::exchange(message, values), ...);
}

/// *Collective.* The values of all ranks, by rank.
template <class Communicator, class Value>
[[nodiscard]] std::vector<Value> allgather_values(const Communicator& comm, Value mine) {
  Message written;
  base::exchange(written, mine);
  std::vector<Value> all;
  for (const std::string& bytes : comm.allgather_text(written.written())) {
    Message message(bytes);
    base::exchange(message, all.emplace_back());
  }
  return all;
}

}  // namespace tessera::base
