// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>
#include <string.h>

#include "tlm_if/command/program_format.h"

unsigned host_format_program(unsigned char* at);

static unsigned char* put(unsigned char* at, uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) *at++ = (unsigned char)(value >> 8 * i);
  return at;
}

static unsigned char* put_framing(unsigned char* at, unsigned size, unsigned kind) {
  put(at + KB_RECORD_SIZE, size, 2);
  put(at + KB_RECORD_KIND, kind, 1);
  put(at + KB_RECORD_FLAGS, 0, 1);
  return at + KB_RECORD_BODY;
}

static unsigned char* put_dense(unsigned char* at, unsigned index, uint64_t address, unsigned rows,
                                unsigned cols, unsigned dtype, unsigned space, const char* name) {
  memset(at, 0, KB_SET_HANDLE_BYTES);
  put_framing(at, KB_SET_HANDLE_BYTES, KB_REC_SET_HANDLE);
  put(at + KB_SET_HANDLE_INDEX, index, 4);
  unsigned char* const entry = at + KB_SET_HANDLE_ENTRY;
  put(entry + KB_ENTRY_ID, index + 1, 8);
  put(entry + KB_ENTRY_ADDRESS, address, 8);
  put(entry + KB_ENTRY_ROWS, rows, 8);
  put(entry + KB_ENTRY_COLS, cols, 8);
  put(entry + KB_ENTRY_ROW_STRIDE, cols, 8);
  put(entry + KB_ENTRY_COL_STRIDE, 1, 8);
  put(entry + KB_ENTRY_RANK, 2, 1);
  put(entry + KB_ENTRY_DTYPE, dtype, 1);
  put(entry + KB_ENTRY_SPACE, space, 1);
  memcpy(entry + KB_ENTRY_NAME, name, strlen(name));
  return at + KB_SET_HANDLE_BYTES;
}

static unsigned char* put_op(unsigned char* at, unsigned opcode, unsigned scope,
                             const unsigned* operands, unsigned operand_count, unsigned out) {
  at = put(at, opcode, 1);
  at = put(at, scope, 1);
  at = put(at, operand_count | KB_HAS_OUT, 1);
  for (unsigned i = 0; i < operand_count; ++i) at = put(at, operands[i], KB_REFERENCE_BYTES);
  return put(at, out, KB_REFERENCE_BYTES);
}

/* The example of docs/program_format.md, as a driver in C writes it. Returns its size. */
unsigned host_format_program(unsigned char* const begin) {
  enum { P, V, O };
  static const unsigned kFactors[2] = {P, V}, kSum[2] = {O, O}, kShape[3] = {8, 64, 128};
  const uint64_t tcm = (uint64_t)1 << 40;
  unsigned char* at = begin;
  at = put_dense(at, P, tcm, 8, 64, KB_DTYPE_F16, KB_SPACE_TCM, "P");
  at = put_dense(at, V, 4096, 64, 128, KB_DTYPE_F16, KB_SPACE_HBM, "V");
  at = put_dense(at, O, tcm + 1024, 8, 128, KB_DTYPE_F32, KB_SPACE_TCM, "O");

  unsigned char* const composite = at;
  at = put(composite + KB_RECORD_BODY, 2, 1);
  at = put_op(at, KB_OP_GEMM, KB_SCOPE_KERNEL, kFactors, 2, O);
  at = put(at, 3, 1);
  for (unsigned i = 0; i < 3; ++i) at = put(at, kShape[i], KB_EXTRA_BYTES);
  at = put_op(at, KB_OP_ADD, KB_SCOPE_OUTPUT_TILE, kSum, 2, O);
  at = put(at, 0, 1);
  at = put(at, 1, 1);
  at = put(at, O, KB_REFERENCE_BYTES);
  put_framing(composite, (unsigned)(at - composite), KB_REC_COMPOSITE);

  at = put_framing(at, KB_RECORD_BODY, KB_REC_END_OF_PROGRAM);
  return (unsigned)(at - begin);
}
