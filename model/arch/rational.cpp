// SPDX-License-Identifier: Apache-2.0
#include "model/arch/rational.hpp"

#include <fmt/format.h>

#include <cctype>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "tlm_if/command/error.hpp"

namespace kernbench::arch {
namespace {

Wide wide_gcd(Wide a, Wide b) {
  while (b != 0) {
    const Wide rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

Rational reduced(Wide numerator, Wide denominator) {
  const Wide divisor = numerator == 0 ? denominator : wide_gcd(numerator, denominator);
  numerator /= divisor;
  denominator /= divisor;
  constexpr Wide kMax = std::numeric_limits<std::uint64_t>::max();
  if (numerator > kMax || denominator > kMax) {
    throw std::overflow_error("an exact fraction needs more than 64 bits");
  }
  return {static_cast<std::uint64_t>(numerator), static_cast<std::uint64_t>(denominator)};
}

constexpr std::uint64_t kMaxPart = 1'000'000'000'000'000'000;

}  // namespace

void Rational::refuse_negative(std::int64_t value) {
  throw InputError(fmt::format("{} is negative; give a number of at least 0", value));
}

void Rational::reduce() {
  if (den_ == 0) {
    throw InputError(fmt::format("{}/0 is not a number; give a denominator of at least 1", num_));
  }
  const std::uint64_t divisor = std::gcd(num_, den_);
  num_ /= divisor;
  den_ /= divisor;
}

Rational Rational::parse(std::string_view text) {
  const auto fail = [&](const char* why) {
    return InputError(fmt::format("'{}' is {}", text, why));
  };
  Wide digits = 0;
  int scale = 0;  // value = digits * 10^-scale
  bool point = false;
  bool any = false;
  std::size_t i = 0;
  if (i < text.size() && text[i] == '+') ++i;
  if (i < text.size() && text[i] == '-') throw fail("negative; give a number of at least 0");
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '.' && !point) {
      point = true;
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      any = true;
      digits = digits * 10 + static_cast<Wide>(c - '0');
      if (digits > Wide{kMaxPart} * 10) throw fail("too large or too finely given");
      if (point) ++scale;
    } else {
      break;
    }
  }
  if (!any) throw fail("not a decimal number");
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    int sign = -1;  // a positive exponent lowers the scale
    if (++i < text.size() && (text[i] == '+' || text[i] == '-')) sign = text[i++] == '-' ? 1 : -1;
    int exponent = 0;
    const std::size_t first = i;
    for (; i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) != 0; ++i) {
      exponent = exponent * 10 + (text[i] - '0');
      if (exponent > 30) throw fail("too large or too finely given");
    }
    if (i == first) throw fail("not a decimal number");
    scale += sign * exponent;
  }
  if (i != text.size()) throw fail("not a decimal number");
  while (scale > 0 && digits % 10 == 0 && digits != 0) {
    digits /= 10;
    --scale;
  }
  if (digits == 0) return {};
  Wide denominator = 1;
  for (; scale < 0; ++scale) {
    digits *= 10;
    if (digits > kMaxPart) throw fail("too large or too finely given");
  }
  for (; scale > 0; --scale) {
    denominator *= 10;
    if (denominator > kMaxPart) throw fail("too large or too finely given");
  }
  if (digits > kMaxPart) throw fail("too large or too finely given");
  return reduced(digits, denominator);
}

std::string Rational::to_string() const {
  if (den_ == 1) return fmt::format("{}", num_);
  // A finite decimal has only the prime factors 2 and 5 in its denominator.
  std::uint64_t scaled = den_;
  int digits = 0;
  Wide numerator = num_;
  while (scaled != 1 && digits < 18) {
    if (scaled % 10 == 0) {
      scaled /= 10;
    } else if (scaled % 5 == 0) {
      scaled /= 5;
      numerator *= 2;
    } else if (scaled % 2 == 0) {
      scaled /= 2;
      numerator *= 5;
    } else {
      return fmt::format("{}/{}", num_, den_);
    }
    ++digits;
  }
  Wide unit = 1;
  for (int i = 0; i < digits; ++i) unit *= 10;
  if (scaled != 1 || numerator / unit > std::numeric_limits<std::uint64_t>::max()) {
    return fmt::format("{}/{}", num_, den_);
  }
  return fmt::format("{}.{:0{}}", static_cast<std::uint64_t>(numerator / unit),
                     static_cast<std::uint64_t>(numerator % unit), digits);
}

Rational operator*(const Rational& x, const Rational& y) {
  return reduced(static_cast<Wide>(x.num_) * y.num_, static_cast<Wide>(x.den_) * y.den_);
}
Rational operator/(const Rational& x, const Rational& y) {
  if (y.num_ == 0) throw std::domain_error("division by zero");
  return reduced(static_cast<Wide>(x.num_) * y.den_, static_cast<Wide>(x.den_) * y.num_);
}
Rational operator+(const Rational& x, const Rational& y) {
  return reduced(static_cast<Wide>(x.num_) * y.den_ + static_cast<Wide>(y.num_) * x.den_,
                 static_cast<Wide>(x.den_) * y.den_);
}

std::uint64_t wide_mul_div_round(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  const Wide wide = static_cast<Wide>(a) * b;
  const Wide quotient = wide / c;
  const Wide rest = wide % c;
  const Wide rounded = quotient + (rest >= c - rest ? 1 : 0);
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  return rounded > kMax ? kMax : static_cast<std::uint64_t>(rounded);
}

}  // namespace kernbench::arch
