// SPDX-License-Identifier: Apache-2.0
#include "device/sha256.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace TESSERA_NAMESPACE {
namespace {

// Names follow FIPS 180-4, sections 4.1.2, 4.2.2 and 6.2.
using Word = std::uint32_t;

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<Word, 64> K = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using State = std::array<Word, 8>;
constexpr std::size_t block_bytes = 64;

/// The message schedule: the words of a block, and the words derived from them.
std::array<Word, 64> schedule(const char* block) {
  std::array<Word, 64> W{};
  for (std::size_t t = 0; t < 16; ++t)
    for (std::size_t i = 0; i < 4; ++i) W[t] = W[t] << 8 | static_cast<unsigned char>(block[4 * t + i]);
  for (std::size_t t = 16; t < 64; ++t) {
    const Word sigma0 = std::rotr(W[t - 15], 7) ^ std::rotr(W[t - 15], 18) ^ W[t - 15] >> 3;
    const Word sigma1 = std::rotr(W[t - 2], 17) ^ std::rotr(W[t - 2], 19) ^ W[t - 2] >> 10;
    W[t] = sigma1 + W[t - 7] + sigma0 + W[t - 16];
  }
  return W;
}

void add_block(State& H, const char* block) {
  const std::array<Word, 64> W = schedule(block);
  auto [a, b, c, d, e, f, g, h] = H;
  for (std::size_t t = 0; t < 64; ++t) {
    const Word Sigma1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const Word Ch = (e & f) ^ (~e & g);
    const Word T1 = h + Sigma1 + Ch + K[t] + W[t];
    const Word Sigma0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const Word Maj = (a & b) ^ (a & c) ^ (b & c);
    const Word T2 = Sigma0 + Maj;
    h = g;
    g = f;
    f = e;
    e = d + T1;
    d = c;
    c = b;
    b = a;
    a = T1 + T2;
  }
  const State added = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < H.size(); ++i) H[i] += added[i];
}

/// The text after the last whole block: the rest of the text, a one bit, zeros, and the length in bits.
std::string padded(std::string_view rest, std::uint64_t all_bytes) {
  std::string end(rest);
  end += '\x80';
  while (end.size() % block_bytes != block_bytes - 8) end += '\0';
  for (int shift = 56; shift >= 0; shift -= 8) end += static_cast<char>(all_bytes * 8 >> shift & 0xff);
  return end;
}

}  // namespace

std::string sha256(std::string_view text) {
  // The first 32 bits of the fractional parts of the square roots of the first 8 primes.
  State H = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const std::uint64_t all_bytes = text.size();
  for (; text.size() >= block_bytes; text.remove_prefix(block_bytes)) add_block(H, text.data());
  const std::string end = padded(text, all_bytes);
  for (std::size_t at = 0; at < end.size(); at += block_bytes) add_block(H, end.data() + at);

  std::string digits;
  for (const Word word : H)
    for (int shift = 28; shift >= 0; shift -= 4) digits += "0123456789abcdef"[word >> shift & 15];
  return digits;
}

}  // namespace TESSERA_NAMESPACE
