// SPDX-License-Identifier: Apache-2.0
// A program file: what it holds comes back, its header is the documented one, and no other bytes
// are taken for one.
#include "tlm_if/command/program_file.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "tests/command/raw_record.hpp"
#include "tests/support/sealed_file.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tlm_if/command/error.hpp"

namespace kernbench::command {
namespace {

using kernbench::test::sealed;
using test::Bytes;
using testing::HasSubstr;
using testing::StartsWith;

/// Two programs that share a (4, 6) tensor by rows and each write a part of an output by columns.
ProgramFile sample() {
  ProgramFile file;
  file.title = "copy rows=4";
  file.hbm_bytes = 8192;
  file.scratch_bytes = 1024;
  file.tiles = 3;
  file.table_entries = 4095;
  const auto part = [](std::uint32_t program, const Shape& shape, Address addr, const Name& name,
                       std::vector<ProgramFile::Tensor::Rows> rows, Index first_col) {
    return ProgramFile::Tensor::Part{program,
                                     make_handle(0, addr, shape, DType::f16, Space::hbm, name),
                                     std::move(rows), first_col, shape.cols()};
  };
  ProgramFile::Tensor x{"x", false, DType::f16, Shape{4, 6}, {2, 1, 12}, {}};
  x.parts.push_back(part(0, Shape{3, 6}, 0, "x", {{0, 1}, {2, 2}}, 0));
  x.parts.push_back(part(1, Shape{1, 6}, 4096, "x", {{1, 1}}, 0));
  ProgramFile::Tensor out{"out", true, DType::f16, Shape{12}, {12}, {}};
  out.parts.push_back(part(0, Shape{8}, 4096, "out", {{0, 1}}, 0));
  out.parts.push_back(part(1, Shape{5}, 4096, "out", {{0, 1}}, 7));
  file.tensors = {x, out};
  for (const std::uint32_t pe : {5U, 2U}) {
    ProgramFile::Stream& stream = file.streams.emplace_back();
    stream.pe = pe;
    const TensorHandle src = make_handle(1, 0, Shape{1, 6}, DType::f16, Space::hbm, "x");
    const TensorHandle dst = make_handle(2, kTcmBase, Shape{1, 6}, DType::f16, Space::tcm, "x");
    stream.program.steps = {BeginRegionStep{"loop"}, Command(DmaReadCmd{src, dst}),
                            EndRegionStep{"loop"}};
  }
  return file;
}

std::string refusal(const Bytes& bytes) {
  try {
    parse_program_file(bytes, "f.kbp");
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ProgramFile, HoldsWhatItWasGiven) {
  const ProgramFile file = sample();
  const Bytes bytes = to_bytes(file);
  const ProgramFile read = parse_program_file(bytes, "f.kbp");
  EXPECT_EQ(read.title, file.title);
  EXPECT_EQ(read.hbm_bytes, 8192u);
  EXPECT_EQ(read.scratch_bytes, 1024u);
  EXPECT_EQ(read.tiles, 3u);
  EXPECT_EQ(read.table_entries, 4095u);
  ASSERT_EQ(read.tensors.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const ProgramFile::Tensor& x = file.tensors[i];
    const ProgramFile::Tensor& y = read.tensors[i];
    EXPECT_EQ(y.name, x.name);
    EXPECT_EQ(y.is_output, x.is_output);
    EXPECT_EQ(y.dtype, x.dtype);
    EXPECT_EQ(y.shape, x.shape);
    EXPECT_EQ(y.file_shape, x.file_shape);
    ASSERT_EQ(y.parts.size(), x.parts.size());
    for (std::size_t k = 0; k < x.parts.size(); ++k) {
      EXPECT_EQ(y.parts[k].program, x.parts[k].program);
      EXPECT_EQ(y.parts[k].handle, x.parts[k].handle);
      EXPECT_EQ(y.parts[k].first_col, x.parts[k].first_col);
      EXPECT_EQ(y.parts[k].cols, x.parts[k].cols);
      ASSERT_EQ(y.parts[k].rows.size(), x.parts[k].rows.size());
      for (std::size_t r = 0; r < x.parts[k].rows.size(); ++r) {
        EXPECT_EQ(y.parts[k].rows[r].begin, x.parts[k].rows[r].begin);
        EXPECT_EQ(y.parts[k].rows[r].count, x.parts[k].rows[r].count);
      }
    }
  }
  ASSERT_EQ(read.streams.size(), 2u);
  EXPECT_EQ(read.streams[0].pe, 5u);
  EXPECT_EQ(read.streams[1].pe, 2u);
  EXPECT_EQ(read.streams[1].program.commands(), file.streams[1].program.commands());
  EXPECT_EQ(read.streams[1].program.steps.size(), 3u);
  EXPECT_EQ(to_bytes(read), bytes);
}

// The table of docs/program_format.md, field by field.
TEST(ProgramFile, HeaderTensorsAndStreamsLieAsDocumented) {
  const Bytes bytes = to_bytes(sample());
  const auto at = [&](std::size_t offset, int size) {
    std::uint64_t value = 0;
    for (int i = 0; i < size; ++i) {
      value |= std::uint64_t{bytes.at(offset + static_cast<std::size_t>(i))} << 8 * i;
    }
    return value;
  };
  EXPECT_EQ(Bytes(bytes.begin(), bytes.begin() + 8),
            (Bytes{0x8b, 'K', 'B', 'P', 0x0d, 0x0a, 0x1a, 0x0a}));
  EXPECT_EQ(at(8, 4), 1u);   // version
  EXPECT_EQ(at(12, 4), 0u);  // reserved
  EXPECT_EQ(at(16, 8), bytes.size());
  EXPECT_EQ(at(24, 8), 8192u);  // HBM
  EXPECT_EQ(at(32, 8), 1024u);  // scratch
  EXPECT_EQ(at(40, 8), 3u);     // tiles
  EXPECT_EQ(at(48, 4), 4095u);  // entries of the handle table
  EXPECT_EQ(at(52, 4), 2u);     // tensors
  EXPECT_EQ(at(56, 4), 2u);     // streams
  EXPECT_EQ(at(60, 4), 11u);    // of the title
  EXPECT_EQ(std::string(bytes.begin() + 64, bytes.begin() + 75), "copy rows=4");
  const std::size_t x = 75;
  EXPECT_EQ(at(x, 1), 0u);       // input
  EXPECT_EQ(at(x + 1, 1), 0u);   // f16
  EXPECT_EQ(at(x + 2, 1), 2u);   // rank
  EXPECT_EQ(at(x + 3, 1), 3u);   // axes in a file
  EXPECT_EQ(at(x + 4, 4), 1u);   // of the name
  EXPECT_EQ(at(x + 8, 4), 2u);   // parts
  EXPECT_EQ(at(x + 12, 4), 0u);  // reserved
  EXPECT_EQ(at(x + 16, 8), 4u);  // rows
  EXPECT_EQ(at(x + 24, 8), 6u);  // columns
  EXPECT_EQ(at(x + 32, 1), static_cast<std::uint64_t>('x'));
  EXPECT_EQ(at(x + 33, 8), 2u);  // axes
  EXPECT_EQ(at(x + 41, 8), 1u);
  EXPECT_EQ(at(x + 49, 8), 12u);
  const std::size_t part = x + 57;
  EXPECT_EQ(at(part, 4), 0u);       // program
  EXPECT_EQ(at(part + 4, 4), 2u);   // blocks of rows
  EXPECT_EQ(at(part + 8, 8), 0u);   // address
  EXPECT_EQ(at(part + 16, 8), 0u);  // first column
  EXPECT_EQ(at(part + 24, 8), 6u);  // columns
  EXPECT_EQ(at(part + 32, 8), 0u);  // reserved
  EXPECT_EQ(at(part + 40, 8), 0u);  // rows [0, 1)
  EXPECT_EQ(at(part + 48, 8), 1u);
  EXPECT_EQ(at(part + 56, 8), 2u);  // rows [2, 4)
  EXPECT_EQ(at(part + 64, 8), 2u);
  // Second part: 40 + 16; `out`: 32 + 3 + 8 + twice 40 + 16.
  const std::size_t stream = part + 72 + 56 + 155;
  const Bytes records = encode(sample().streams[0].program);
  EXPECT_EQ(at(stream, 4), 5u);      // PE
  EXPECT_EQ(at(stream + 4, 4), 0u);  // reserved
  EXPECT_EQ(at(stream + 8, 8), records.size());
  EXPECT_TRUE(std::equal(records.begin(), records.end(),
                         bytes.begin() + static_cast<std::ptrdiff_t>(stream) + 16));
  EXPECT_EQ(bytes.size(), stream + 2 * (16 + records.size()) + 4);
  const ProgramFile read = parse_program_file(bytes, "f.kbp");
  EXPECT_EQ(read.streams[0].offset, stream + 16);
  EXPECT_EQ(read.streams[1].offset, stream + 16 + records.size() + 16);
  EXPECT_EQ(at(bytes.size() - 4, 4), kernbench::test::crc32_by_bits(bytes, bytes.size() - 4));
}

// The check value of CRC-32 that every description of it gives.
TEST(ProgramFile, TheCheckSumOfTheTestIsTheUsualOne) {
  const std::string digits = "123456789";
  EXPECT_EQ(kernbench::test::crc32_by_bits(Bytes(digits.begin(), digits.end()), 9), 0xcbf43926u);
}

TEST(ProgramFile, CutAtAnyLengthIsRefused) {
  const Bytes bytes = to_bytes(sample());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    const std::string what = refusal(cut);
    EXPECT_THAT(what, StartsWith("f.kbp: offset ")) << size;
    if (size > 0) {
      EXPECT_THAT(what, HasSubstr("cut short")) << size;
    }
    // Neither does what is left become a file by a size and a check sum that fit.
    if (size >= 68) {
      EXPECT_THAT(refusal(sealed(cut)), StartsWith("f.kbp: offset ")) << size;
    }
  }
  Bytes longer = bytes;
  longer.push_back(0);
  EXPECT_THAT(refusal(longer), HasSubstr("has something appended"));
  EXPECT_THAT(refusal(sealed(longer)), HasSubstr("1 bytes follow the last stream"));
}

TEST(ProgramFile, AnyBitThatChangesIsRefused) {
  const Bytes bytes = to_bytes(sample());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      Bytes changed = bytes;
      changed[i] = static_cast<std::uint8_t>(changed[i] ^ 1 << bit);
      EXPECT_THAT(refusal(changed), StartsWith("f.kbp: offset ")) << i;
    }
  }
}

// With a check sum that fits: each field refuses what it may not be, and says where.
TEST(ProgramFile, FieldsAreChecked) {
  const Bytes bytes = to_bytes(sample());
  ASSERT_EQ(refusal(sealed(bytes)), "accepted");
  const auto changed = [&](std::size_t offset, std::uint64_t value, int size) {
    Bytes copy = bytes;
    for (int i = 0; i < size; ++i) {
      copy[offset + static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(value >> 8 * i);
    }
    return refusal(sealed(copy));
  };
  const std::size_t x = 75, part = x + 57, out = part + 72 + 56, stream = out + 155;
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_THAT(changed(i, 'x', 1), HasSubstr("offset 0: this is not a program file")) << i;
  }
  EXPECT_EQ(changed(8, 2, 4),
            "f.kbp: offset 8: the version is 2; this program reads 1; compile the kernel anew");
  EXPECT_THAT(changed(12, 1, 4), HasSubstr("offset 12: a reserved word is 0x1"));
  EXPECT_THAT(changed(40, 0, 8), HasSubstr("offset 40: the number of tiles is 0"));
  EXPECT_THAT(changed(48, 0, 4), HasSubstr("offset 48: the handle table has 0 entries"));
  EXPECT_THAT(changed(48, 65537, 4), HasSubstr("the handle table has 65537 entries"));
  EXPECT_THAT(changed(48, 1, 4), HasSubstr("no entry 1 in the handle table"));
  EXPECT_THAT(changed(52, 0xffffffff, 4), HasSubstr("4294967295 tensors take at least 32 bytes"));
  EXPECT_THAT(changed(52, 1, 4), StartsWith("f.kbp: offset "));
  EXPECT_THAT(changed(56, 0, 4), HasSubstr("offset 56: there is no command stream"));
  EXPECT_THAT(changed(56, 1, 4), HasSubstr("a part is of program 1"));
  EXPECT_THAT(changed(56, 0xffffffff, 4), HasSubstr("4294967295 streams take at least 16 bytes"));
  EXPECT_THAT(changed(60, 0, 4), HasSubstr("the title: the name is empty"));
  EXPECT_THAT(changed(60, 100000, 4), HasSubstr("the title takes 100000 bytes"));
  EXPECT_THAT(changed(66, '\n', 1), HasSubstr("offset 66: the title: byte 2 of the name is 0x0a"));
  EXPECT_THAT(changed(x, 2, 1), HasSubstr("offset 75: direction 2 is unknown"));
  EXPECT_THAT(changed(x + 1, 3, 1), HasSubstr("offset 76: dtype 3 is unknown"));
  EXPECT_THAT(changed(x + 2, 0, 1), HasSubstr("offset 77: rank is 0"));
  EXPECT_THAT(changed(x + 2, 1, 1), HasSubstr("rows is 4; a tensor of rank 1 has 1"));
  EXPECT_THAT(changed(x + 3, 200, 1), HasSubstr("the shape of a tensor takes 1600 bytes"));
  EXPECT_THAT(changed(x + 3, 9, 1), HasSubstr("it has 9 axes in a file of tensors"));
  EXPECT_THAT(changed(x + 4, 0, 4), HasSubstr("the name of a tensor: the name is empty"));
  EXPECT_THAT(changed(x + 8, 1000, 4), HasSubstr("1000 parts take at least 40 bytes"));
  EXPECT_THAT(changed(x + 12, 1, 4), HasSubstr("a reserved word is 0x1"));
  EXPECT_THAT(changed(x + 16, 0, 8), HasSubstr("dimension 0 of"));
  EXPECT_THAT(changed(x + 24, ~std::uint64_t{0}, 8), HasSubstr("is -1; it must be at least 1"));
  EXPECT_THAT(changed(x + 24, std::uint64_t{1} << 60, 8), HasSubstr("more than 2^56 entries"));
  EXPECT_THAT(changed(x + 41, 0, 8), HasSubstr("tensor x: its shape in a file"));
  EXPECT_THAT(changed(x + 41, 2, 8), HasSubstr("has not the 24 entries of (4, 6)"));
  EXPECT_THAT(changed(part + 4, 1 << 30, 4), HasSubstr("blocks of rows take at least 16 bytes"));
  EXPECT_THAT(changed(part + 4, 0, 4), HasSubstr("the part of program 0 has no rows"));
  EXPECT_THAT(changed(part, 1, 4), HasSubstr("a part is of program 1; parts are in the order"));
  EXPECT_EQ(changed(part + 8, 8192 - 36, 8), "accepted");
  EXPECT_THAT(changed(part + 8, 8192 - 35, 8), HasSubstr("ends beyond the 8192 bytes of HBM"));
  EXPECT_THAT(changed(part + 8, ~std::uint64_t{0}, 8), HasSubstr("leaves no room"));
  EXPECT_THAT(changed(part + 16, 1, 8), HasSubstr("has 6 columns from 1; there are 6"));
  EXPECT_THAT(changed(part + 24, 0, 8), HasSubstr("has 0 columns from 0"));
  EXPECT_THAT(changed(part + 32, 1, 8), HasSubstr("a reserved word is 0x1"));
  EXPECT_THAT(changed(part + 48, 5, 8), HasSubstr("has 5 rows from 0; there are 4"));
  EXPECT_THAT(changed(part + 48, 3, 8), HasSubstr("the part of program 0 has row 2 twice"));
  EXPECT_THAT(changed(part + 56, 0, 8), HasSubstr("the part of program 0 has row 0 twice"));
  // Columns [0, 8) and [7, 12) of an output: one may be there twice, none may be missing.
  EXPECT_EQ(changed(out + 43 + 24, 7, 8), "accepted");
  EXPECT_THAT(changed(out + 43 + 24, 6, 8), HasSubstr("row 0 of column 6 is an output and in"));
  EXPECT_EQ(changed(out + 43 + 16, 1, 8),
            "f.kbp: offset 260: tensor out: row 0 of column 0 is an output and in no part");
  EXPECT_THAT(changed(part + 56, ~std::uint64_t{0} >> 1, 8), HasSubstr("2 rows from 92233720"));
  EXPECT_THAT(changed(stream, 2, 4), HasSubstr("two programs run on PE 2"));
  EXPECT_THAT(changed(stream + 4, 1, 4), HasSubstr("a reserved word is 0x1"));
  EXPECT_THAT(changed(stream + 8, 1 << 20, 8), HasSubstr("the commands of program 0 take 1048576"));
  EXPECT_THAT(changed(stream + 8, 4, 8), HasSubstr("program 0: "));
  // The first record of the stream: begin_region, 8 bytes.
  EXPECT_THAT(changed(stream + 16 + 2, 0x33, 1),
              HasSubstr("program 0: record kind 0x33 is unknown; allowed are 0x01, 0x02"));

  ProgramFile file = sample();
  file.tensors[1].name = "y";
  Bytes alike = to_bytes(file);
  alike[out + 32] = 'x';
  EXPECT_EQ(refusal(sealed(alike)), "f.kbp: offset 260: two tensors are named x");
}

TEST(ProgramFile, WhatItCannotHoldIsRefusedWhenWritten) {
  const auto refused = [](const std::function<void(ProgramFile&)>& change) {
    ProgramFile file = sample();
    change(file);
    try {
      to_bytes(file);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refused([](ProgramFile&) {}), "accepted");
  EXPECT_THAT(refused([](ProgramFile& f) { f.title = ""; }), HasSubstr("its title"));
  EXPECT_THAT(refused([](ProgramFile& f) { f.tiles = 0; }), HasSubstr("0 tiles"));
  EXPECT_THAT(refused([](ProgramFile& f) { f.streams.clear(); }), HasSubstr("no program"));
  EXPECT_THAT(refused([](ProgramFile& f) { f.streams[1].pe = 5; }), HasSubstr("two programs"));
  EXPECT_THAT(refused([](ProgramFile& f) { f.tensors[1].name = "x"; }), HasSubstr("tensor x"));
  EXPECT_THAT(refused([](ProgramFile& f) { f.tensors[0].shape = Shape(); }),
              HasSubstr("it must be at least 1"));
  // A shape that no reader takes; it has no parts, so nothing else is wrong with it.
  EXPECT_THAT(refused([](ProgramFile& f) {
                f.tensors[0].shape = Shape::matrix(Index{1} << 29, Index{1} << 29);
                f.tensors[0].parts.clear();
                f.tensors[0].file_shape = {Index{1} << 29, Index{1} << 29};
              }),
              HasSubstr("more than 2^56 entries"));
  EXPECT_THAT(refused([](ProgramFile& f) {
                f.tensors[0].file_shape = {24, 2};
              }),
              HasSubstr("has not the 24 entries"));
  EXPECT_THAT(refused([](ProgramFile& f) { f.hbm_bytes = 4100; }), HasSubstr("ends beyond"));
  EXPECT_THAT(refused([](ProgramFile& f) { f.tensors[0].parts[0].handle.row_stride = 12; }),
              HasSubstr("dense in HBM"));
  EXPECT_THAT(refused([](ProgramFile& f) { f.tensors[1].parts.pop_back(); }),
              HasSubstr("tensor out: row 0 of column 8 is an output and in no part"));
  EXPECT_EQ(refused([](ProgramFile& f) { f.tensors[0].parts.pop_back(); }), "accepted");
  // Blocks {0, 2}, {1, 2}: row 1 twice, row 3 never.
  EXPECT_THAT(refused([](ProgramFile& f) {
                ProgramFile::Tensor::Part& part = f.tensors[0].parts[0];
                part.rows = {{1, 2}, {0, 2}};
                part.handle = make_handle(0, 0, Shape{4, 6}, DType::f16, Space::hbm, "x");
              }),
              HasSubstr("tensor x: the part of program 0 has row 1 twice"));
  // An output of four rows, the middle of which only one half of the columns has.
  EXPECT_THAT(refused([](ProgramFile& f) {
                ProgramFile::Tensor& out = f.tensors[1];
                out.shape = Shape{4, 6};
                out.file_shape = {24};
                const auto handle = [](const Shape& shape) {
                  return make_handle(0, 0, shape, DType::f16, Space::hbm, "out");
                };
                out.parts[0] = {0, handle({4, 3}), {{2, 2}, {0, 2}}, 0, 3};
                out.parts[1] = {1, handle({3, 3}), {{0, 1}, {2, 2}}, 3, 3};
              }),
              HasSubstr("tensor out: row 1 of column 3 is an output and in no part"));
  for (const std::uint32_t entries : {0U, 65537U}) {
    EXPECT_THAT(refused([&](ProgramFile& f) { f.table_entries = entries; }),
                HasSubstr(fmt::format("the handle table has {} entries", entries)));
  }
  EXPECT_THAT(refused([](ProgramFile& f) { f.table_entries = 1; }), HasSubstr("table"));
  EXPECT_THAT(refused([](ProgramFile& f) { f.tensors[0].parts[1].program = 0; }),
              HasSubstr("parts are in the order of programs"));
  EXPECT_THAT(
      refused([](ProgramFile& f) { f.streams[0].program.steps = {BeginRegionStep{"a\nb"}}; }),
      HasSubstr("begin_region: byte 1"));
}

TEST(ProgramFile, IsReadFromAPath) {
  const kernbench::test::TemporaryFolder folder;
  const std::string path = folder / "a.kbp";
  const Bytes bytes = to_bytes(sample());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  EXPECT_EQ(to_bytes(read_program_file(path)), bytes);
  try {
    read_program_file(folder / "none.kbp");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("none.kbp: no such file"));
  }
  std::ofstream(path) << "pe:\n  clock_ghz: 1\n";
  try {
    read_program_file(path);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("a.kbp: offset 0: this is not a program file"));
  }
}

}  // namespace
}  // namespace kernbench::command
