// SPDX-License-Identifier: Apache-2.0
/*
 * Records of a command stream (docs/program_format.md), for C99 and C++. A host writes them
 * into the command ring of a host port (tlm_if/host_port_registers.h); a program file contains
 * them.
 *
 * All fields are little-endian and packed. KB_x_y is the offset of field y in x unless a comment
 * says otherwise; KB_x_BYTES is a size.
 */
#ifndef KERNBENCH_PROGRAM_FORMAT_H
#define KERNBENCH_PROGRAM_FORMAT_H

/* Every record begins with a framing. */
#define KB_RECORD_SIZE 0u  /* u16, framing included */
#define KB_RECORD_KIND 2u  /* u8 KB_REC_* */
#define KB_RECORD_FLAGS 3u /* u8 KB_FLAG_* */
#define KB_RECORD_BODY 4u
#define KB_RECORD_MAX_BYTES 65535u

/* Kinds of records. */
#define KB_REC_COMPOSITE 0x01u
#define KB_REC_SIMPLE 0x02u
#define KB_REC_CPU_OVERHEAD 0x10u   /* u64 cycles */
#define KB_REC_WAIT 0x11u           /* u16 number of ranges; a range is u64 begin, u64 end */
#define KB_REC_BEGIN_REGION 0x12u   /* name: the rest of the record, 1 to 255 bytes of UTF-8 */
#define KB_REC_END_REGION 0x13u     /* name */
#define KB_REC_OBSERVE 0x14u        /* reference, name */
#define KB_REC_SET_HANDLE 0x20u     /* u32 index, entry */
#define KB_REC_END_OF_PROGRAM 0x21u /* nothing */

/* Flags of a record. */
#define KB_FLAG_NO_DATA 0x01u /* of a composite: timing as usual, no data is computed */

/* COMPOSITE: u8 number of ops, the ops, u8 number of rw handles, their references.
 * An op: u8 opcode, u8 scope, u8 number of operands | KB_HAS_OUT, references of the operands and of
 * the output, u8 number of extras, the extras. */
#define KB_REFERENCE_BYTES 8u /* u32 index in the handle table, u32 0 */
#define KB_EXTRA_BYTES 4u     /* u32, i32 or f32 */
#define KB_HAS_OUT 0x80u

/* SIMPLE: u8 opcode, references, scalars of 4 bytes. For an op at scope kernel these are its
 * operands and output, and its extras. */
#define KB_SIMPLE_LOAD 0x80u  /* source in HBM, destination in TCM */
#define KB_SIMPLE_STORE 0x81u /* source in TCM, destination in HBM */
#define KB_SIMPLE_SEND 0x82u  /* source; KB_PEER */
#define KB_SIMPLE_RECV 0x83u  /* destination; KB_PEER */
/* The scalar of SEND and RECV: the other PE, below 2^24, and the channel, below 2^8. */
#define KB_PEER(pe, channel) ((pe) | 0x1000000u * (channel))

/* How often an op of a composite runs. */
#define KB_SCOPE_KERNEL 0u /* once, before or after the tile loop */
#define KB_SCOPE_K_TILE 1u
#define KB_SCOPE_OUTPUT_TILE 2u

/* SET_HANDLE: u32 index after the framing, then an entry. */
#define KB_SET_HANDLE_INDEX 4u
#define KB_SET_HANDLE_ENTRY 8u
#define KB_SET_HANDLE_BYTES 88u
#define KB_ENTRY_ID 0u          /* u64, not 0 */
#define KB_ENTRY_ADDRESS 8u     /* u64 */
#define KB_ENTRY_ROWS 16u       /* i64; 1 for rank 1 */
#define KB_ENTRY_COLS 24u       /* i64 */
#define KB_ENTRY_ROW_STRIDE 32u /* i64, in elements */
#define KB_ENTRY_COL_STRIDE 40u /* i64, in elements */
#define KB_ENTRY_RANK 48u       /* u8, 1 or 2 */
#define KB_ENTRY_DTYPE 49u      /* u8 KB_DTYPE_* */
#define KB_ENTRY_SPACE 50u      /* u8 KB_SPACE_* */
#define KB_ENTRY_RESERVED 51u   /* 5 bytes, 0 */
#define KB_ENTRY_NAME 56u       /* 24 bytes, padded with 0; the last byte is 0 */
#define KB_ENTRY_BYTES 80u

#define KB_DTYPE_F16 0u
#define KB_DTYPE_BF16 1u
#define KB_DTYPE_F32 2u

#define KB_SPACE_HBM 0u /* addresses from 0 on */
#define KB_SPACE_TCM 1u /* addresses from 2^40 on */

/* Opcodes of ops. Operands in order, extras in parentheses, [optional]; all ops have an output.
 * After the slash: operands of an epilogue op at scope k_tile and output_tile. */
#define KB_OP_GEMM 0x00u      /* a, b (u32 m, k, n) */
#define KB_OP_RMAX 0x01u      /* src (i32 reduce_axis) */
#define KB_OP_RSUM 0x02u      /* src (i32 reduce_axis) */
#define KB_OP_MAX_ELEM 0x03u  /* src_a, src_b */
#define KB_OP_ADD 0x04u       /* src_a, src_b / src, other */
#define KB_OP_MUL 0x05u       /* src_a, src_b / src, other */
#define KB_OP_DIV 0x06u       /* src_a, src_b */
#define KB_OP_EXP_DIFF 0x07u  /* src_a, src_b ([i32 bcast_axis]) */
#define KB_OP_MUL_BCAST 0x08u /* src_a, src_b (i32 bcast_axis) */
#define KB_OP_SUB_BCAST 0x09u /* src_a, src_b (i32 bcast_axis) */
#define KB_OP_DIV_BCAST 0x0au /* src_a, src_b (i32 bcast_axis) */
#define KB_OP_MUL_COLS 0x0bu  /* src_a, src_b (i32 bcast_axis) */
#define KB_OP_ADD_COLS 0x0cu  /* src_a, src_b (i32 bcast_axis) */
#define KB_OP_FMA 0x0du       /* src_a, src_b, src_c */
#define KB_OP_SCALE 0x0eu     /* src (f32 value) / none, and no output */
#define KB_OP_SCALE_ADD 0x0fu /* src (f32 a, b) */
#define KB_OP_SQUARE 0x10u    /* src */
#define KB_OP_RSQRT 0x11u     /* src */
#define KB_OP_RECIP 0x12u     /* src */
#define KB_OP_COPY 0x13u      /* src */
#define KB_OP_RELU 0x14u      /* src / src */
#define KB_OP_SILU 0x15u      /* src / src */
#define KB_OP_GELU 0x16u      /* src / src */
#define KB_OP_FILL 0x17u      /* none (f32 value) */
#define KB_OP_MASK_COLS 0x18u /* src (f32 value, i32 first_col, u32 rows_per_step) */
#define KB_OP_BIAS 0x19u      /* only / src, other */

#endif
