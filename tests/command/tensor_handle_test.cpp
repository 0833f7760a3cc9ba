// SPDX-License-Identifier: Apache-2.0
// R3.2: handles, their sizes and views.
#include "tlm_if/command/tensor_handle.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"

namespace kernbench::command {
namespace {

using test::refusal;
using testing::HasSubstr;

const TensorHandle kMatrix = make_handle(1, 1000, Shape{4, 6}, DType::f32, Space::hbm, "A");

TEST(TensorHandle, IsDenseAndRowMajor) {
  EXPECT_EQ(kMatrix.row_stride, 6);
  EXPECT_EQ(kMatrix.col_stride, 1);
  EXPECT_EQ(kMatrix.bytes(), 96u);
  EXPECT_EQ(kMatrix.range(), (ByteRange{1000, 1096}));
  EXPECT_FALSE(kMatrix.pinned());
  EXPECT_EQ(kMatrix.describe(), "A (4, 6) f32 hbm");
  const TensorHandle vector = make_handle(2, 0, Shape{5}, DType::f16, Space::tcm);
  EXPECT_TRUE(vector.pinned());
  EXPECT_EQ(vector.describe(), "tcm#2 (5,) f16 tcm");
}

// Entry (r, c) of a view is entry (r + r0, c + c0) of the matrix.
TEST(TensorHandle, ViewsOfViews) {
  const TensorHandle view = view_cols(view_rows(kMatrix, 1, 3, 2), 2, 3, 3);
  EXPECT_EQ(view.addr, 1000u + (1 * 6 + 2) * 4);
  EXPECT_EQ(view.shape, (Shape{3, 3}));
  EXPECT_EQ(view.row_stride, 6);
  EXPECT_EQ(view.bytes(), 36u);
  EXPECT_EQ(view.range().size(), (2u * 6 + 2 + 1) * 4);
  const TensorHandle t = view_transposed(view, 4);
  EXPECT_EQ(t.row_stride, 1);
  EXPECT_EQ(t.col_stride, 6);
  // Rows of the transposed view are columns of the view.
  EXPECT_EQ(view_rows(t, 2, 1, 5).addr, view.addr + 2 * 4);
  EXPECT_EQ(view_first(kMatrix, {2, 3}, 6).shape, (Shape{2, 3}));
  EXPECT_EQ(view_first(kMatrix, {2, 3}, 6).addr, 1000u);
}

TEST(TensorHandle, BoundsAreChecked) {
  EXPECT_THAT(refusal([] { view_rows(kMatrix, 3, 2, 2); }), HasSubstr("rows [3, 5) of A"));
  EXPECT_THAT(refusal([] { view_rows(kMatrix, 4, 0, 2); }), HasSubstr("at least one is needed"));
  EXPECT_THAT(refusal([] { view_cols(kMatrix, 0, 7, 2); }), HasSubstr("outside [0, 6)"));
  EXPECT_THAT(refusal([] { view_cols(kMatrix, -1, 2, 2); }), HasSubstr("columns [-1, 1)"));
  EXPECT_THAT(refusal([] { view_first(kMatrix, Shape{3}, 2); }), HasSubstr("ranks differ"));
}

TEST(TensorHandle, BadSizesAreRefused) {
  const auto make = [](Address addr, const Shape& shape) {
    return refusal([&] { make_handle(1, addr, shape, DType::f32, Space::hbm, "x"); });
  };
  EXPECT_THAT(make(0, {0, 4}), HasSubstr("dimension 0 of tensor x (0, 4) is 0"));
  EXPECT_THAT(make(0, {4, -2}), HasSubstr("dimension 1 of tensor x (4, -2) is -2"));
  EXPECT_THAT(make(0, {Index{1} << 40, Index{1} << 40}), HasSubstr("more than 2^56 entries"));
  EXPECT_THAT(make(~Address{0}, {4, 4}), HasSubstr("leaves no room"));
  EXPECT_THAT(refusal([] { Shape{1, 2, 3}; }), HasSubstr("rank 1 or 2, not 3"));
}

TEST(TensorHandle, SameViewIgnoresIdAndName) {
  TensorHandle other = kMatrix;
  other.id = 9;
  other.name = "B";
  EXPECT_TRUE(kMatrix.same_view(other));
  EXPECT_FALSE(kMatrix == other);
  other.shape = {6, 4};
  EXPECT_FALSE(kMatrix.same_view(other));
}

}  // namespace
}  // namespace kernbench::command
