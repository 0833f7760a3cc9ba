// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace kernbench::arch {

// ISO C++17 has no 128-bit integer; exact products of two 64-bit factors need one.
__extension__ typedef unsigned __int128 Wide;

/// An exact non-negative fraction in lowest terms. Decimal settings (0.0625 cycles per byte, 1.2
/// GHz) keep the exact value of their text, so that durations are rounded only once (R6.1). In C++
/// write `Rational::parse("0.0625")` or `{1, 16}`. Construction from a floating-point number does
/// not compile, since it would be inexact or truncated to an integer.
class Rational {
  template <class... Types>
  using Whole = std::enable_if_t<(std::is_integral_v<Types> && ...), int>;

 public:
  constexpr Rational() = default;
  /// Throws InputError if one of the two is negative or the denominator is 0.
  template <class Integer, Whole<Integer> = 0>
  Rational(Integer whole) : num_(part(whole)) {}
  template <class Numerator, class Denominator, Whole<Numerator, Denominator> = 0>
  Rational(Numerator numerator, Denominator denominator)
      : num_(part(numerator)), den_(part(denominator)) {
    reduce();
  }
  template <class Decimal, std::enable_if_t<std::is_floating_point_v<Decimal>, int> = 0>
  Rational(Decimal use_parse_or_a_fraction) = delete;
  /// The exact value of a decimal literal such as `128`, `0.0625`, `1e-3`. Throws InputError on
  /// anything else, a negative number, or one whose numerator or denominator exceeds 10^18.
  static Rational parse(std::string_view text);

  std::uint64_t num() const { return num_; }
  std::uint64_t den() const { return den_; }
  double to_double() const { return static_cast<double>(num_) / static_cast<double>(den_); }
  /// The shortest decimal text, if there is one of at most 18 digits; otherwise `num/den`.
  std::string to_string() const;

  friend Rational operator*(const Rational& x, const Rational& y);
  friend Rational operator/(const Rational& x, const Rational& y);
  friend Rational operator+(const Rational& x, const Rational& y);
  friend bool operator==(const Rational& x, const Rational& y) {
    return x.num_ == y.num_ && x.den_ == y.den_;
  }
  friend bool operator!=(const Rational& x, const Rational& y) { return !(x == y); }
  friend bool operator<(const Rational& x, const Rational& y) {
    return static_cast<Wide>(x.num_) * y.den_ < static_cast<Wide>(y.num_) * x.den_;
  }

 private:
  template <class Integer>
  static std::uint64_t part(Integer value) {
    if constexpr (std::is_signed_v<Integer>) {
      if (value < 0) refuse_negative(value);
    }
    return static_cast<std::uint64_t>(value);
  }
  [[noreturn]] static void refuse_negative(std::int64_t value);
  /// Reduces to lowest terms.
  void reduce();

  std::uint64_t num_ = 0;
  std::uint64_t den_ = 1;
};

std::uint64_t wide_mul_div_round(std::uint64_t a, std::uint64_t b, std::uint64_t c);

/// floor(a * b / c + 1/2). A result that does not fit 64 bits becomes the largest number that does.
/// As a duration that is beyond the end of any simulation, and TimeBase reports it.
inline std::uint64_t mul_div_round(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return wide_mul_div_round(a, b, c);
  if (c == 1) return product;
  const std::uint64_t rest = product % c;
  return product / c + (rest >= c - rest ? 1 : 0);
}

}  // namespace kernbench::arch
