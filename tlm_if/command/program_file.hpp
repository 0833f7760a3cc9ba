// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tlm_if/command/encoding.hpp"

namespace kernbench::command {

/// A compiled kernel: one command stream per program of its launch, and the tensors that a host
/// loads before the run and reads after it. docs/program_format.md describes the bytes.
struct ProgramFile {
  /// A tensor that the host loads or reads, distributed over the programs.
  struct Tensor {
    struct Rows {
      Index begin = 0;
      Index count = 0;
    };
    /// What one program holds: blocks of rows, stacked in that order, all of the same columns.
    struct Part {
      std::uint32_t program = 0;
      TensorHandle handle;  ///< in the HBM of that program's PE
      std::vector<Rows> rows;
      Index first_col = 0;
      Index cols = 0;
    };
    std::string name;
    bool is_output = false;
    DType dtype = DType::f16;
    Shape shape;  ///< of the whole
    std::vector<Index>
        file_shape;  ///< of the whole in a safetensors file: same entries, same order
    /// Parts of the programs that hold something. The parts of an output cover each entry at least
    /// once.
    std::vector<Part> parts;
  };
  struct Stream {
    std::uint32_t pe = 0;
    Program program;
    std::size_t offset = 0;  ///< offset of its records in the file from which it was read
    std::size_t size = 0;    ///< of those
  };

  std::string title;                ///< what was compiled: `gqa_decode variant=opt2 ..`
  std::uint64_t hbm_bytes = 0;      ///< that a PE must have: all HBM tensors are below
  std::uint64_t scratch_bytes = 0;  ///< of TCM that a PE must have
  std::uint64_t tiles = 1;          ///< by which summaries divide (R13.1)
  std::uint32_t table_entries = kDefaultHandleTableEntries;  ///< size of the handle table that it
                                                             ///< needs
  std::vector<Tensor> tensors;
  std::vector<Stream> streams;  ///< by program
};

std::vector<std::uint8_t> to_bytes(const ProgramFile& file);
/// Throws InputError, whose message begins with `name`, for bytes that are not a program file, are
/// cut short or were changed (CRC-32), or hold a refused record.
ProgramFile parse_program_file(const std::vector<std::uint8_t>& bytes, std::string_view name);
/// The bytes of the file at `path`; the header is checked before the rest is read.
std::vector<std::uint8_t> program_file_bytes(const std::string& path);
/// Parses the file at `path`.
ProgramFile read_program_file(const std::string& path);

}  // namespace kernbench::command
