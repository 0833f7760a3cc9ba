// SPDX-License-Identifier: Apache-2.0
/*
 * Registers of the host port of a PE (docs/host_port.md), for C99 and C++. This header defines
 * their offsets and fields. The records in the ring are described in
 * tlm_if/command/program_format.h.
 *
 * All registers are little-endian. RO: writes are refused. WO: reads are refused. W1C: a written 1
 * clears the bit, a written 0 leaves it. A 64-bit register is a pair _LO, _HI.
 */
#ifndef KERNBENCH_HOST_PORT_REGISTERS_H
#define KERNBENCH_HOST_PORT_REGISTERS_H

/* Address space of the port, from the address 0 of its socket. */
#define KB_HOST_REGISTERS 0x00000000u /* registers, 4 or 8 bytes per access */
#define KB_HOST_TABLE 0x00100000u     /* handle table, read-only, 4 or 8 bytes per access */
#define KB_HOST_RING 0x01000000u      /* command ring, any size of access */
#define KB_HOST_WINDOW_BYTES 0x02000000u

/* Identification. */
#define KB_HOST_ID 0x000u            /* RO KB_HOST_ID_VALUE */
#define KB_HOST_VERSION 0x004u       /* RO version of the record format */
#define KB_HOST_CAPABILITIES 0x008u  /* RO KB_HOST_CAP_* */
#define KB_HOST_PE_INDEX 0x00cu      /* RO number of this PE in its design */
#define KB_HOST_RING_BYTES 0x010u    /* RO a power of two */
#define KB_HOST_TABLE_ENTRIES 0x014u /* RO */
#define KB_HOST_PES 0x018u           /* RO PEs that send and receive may name */
#define KB_HOST_IPCQ_CHANNELS 0x01cu /* RO channels to each of them */
#define KB_HOST_HBM_BYTES_LO 0x020u  /* RO HBM of this PE, from address 0 */
#define KB_HOST_HBM_BYTES_HI 0x024u
#define KB_HOST_SCRATCH_BASE_LO 0x028u /* RO tensors in TCM are from here on */
#define KB_HOST_SCRATCH_BASE_HI 0x02cu
#define KB_HOST_SCRATCH_BYTES_LO 0x030u /* RO */
#define KB_HOST_SCRATCH_BYTES_HI 0x034u

/* Control and interrupt. */
#define KB_HOST_CONTROL 0x040u    /* WO KB_HOST_CONTROL_* */
#define KB_HOST_STATUS 0x044u     /* RO KB_HOST_STATUS_*; 0: idle */
#define KB_HOST_IRQ_STATUS 0x048u /* W1C KB_HOST_IRQ_* */
#define KB_HOST_IRQ_MASK 0x04cu   /* RW KB_HOST_IRQ_* that raise the interrupt */

/* Command ring. Head and tail count bytes and run freely, modulo 2^32. */
#define KB_HOST_RING_HEAD 0x050u       /* RO bytes consumed */
#define KB_HOST_RING_TAIL 0x054u       /* RO bytes published */
#define KB_HOST_DOORBELL 0x058u        /* WO new tail: publishes the bytes before it */
#define KB_HOST_SPACE_THRESHOLD 0x05cu /* RW free bytes that raise KB_HOST_IRQ_SPACE; 0: never */

/* Results. */
#define KB_HOST_PROGRAMS_DONE 0x060u   /* RO programs whose last command is done */
#define KB_HOST_ERROR_CODE 0x064u      /* RO KB_HOST_ERROR_* */
#define KB_HOST_ERROR_OFFSET_LO 0x068u /* RO byte of the stream since reset */
#define KB_HOST_ERROR_OFFSET_HI 0x06cu
#define KB_HOST_ERROR_INFO 0x070u       /* RO first 4 bytes of the record, or doorbell */
#define KB_HOST_ERROR_ADDRESS_LO 0x078u /* RO in HBM, where the memory failed */
#define KB_HOST_ERROR_ADDRESS_HI 0x07cu

/* KB_HOST_ID: the bytes "KBPE". */
#define KB_HOST_ID_VALUE 0x4550424bu
/* KB_HOST_VERSION */
#define KB_HOST_VERSION_VALUE 1u

/* KB_HOST_CAPABILITIES */
#define KB_HOST_CAP_COMPOSITE 0x1u /* composite commands */
#define KB_HOST_CAP_SIMPLE 0x2u    /* simple commands */
#define KB_HOST_CAP_IPCQ 0x4u      /* send and receive: there is another PE */
#define KB_HOST_CAP_HBM_HEAD 0x8u  /* op 0 of a composite without a gemm may read HBM */

/* KB_HOST_CONTROL */
#define KB_HOST_CONTROL_RESET 0x1u /* registers, ring and table as at the start */

/* KB_HOST_STATUS */
#define KB_HOST_STATUS_RUNNING 0x1u  /* a program has begun, its last command is not done */
#define KB_HOST_STATUS_WAITING 0x2u  /* the program waits for more bytes in the ring */
#define KB_HOST_STATUS_HALTED 0x4u   /* halted by an error, until reset */
#define KB_HOST_STATUS_DRAINING 0x8u /* commands of a program that reset has cut still run */

/* KB_HOST_IRQ_STATUS, KB_HOST_IRQ_MASK */
#define KB_HOST_IRQ_DONE 0x1u  /* KB_HOST_PROGRAMS_DONE has been incremented */
#define KB_HOST_IRQ_ERROR 0x2u /* halted */
#define KB_HOST_IRQ_SPACE 0x4u /* free bytes have reached KB_HOST_SPACE_THRESHOLD */
#define KB_HOST_IRQ_ALL 0x7u

/* KB_HOST_ERROR_CODE. Below 64: what is wrong with a record. */
#define KB_HOST_ERROR_NONE 0u
#define KB_HOST_ERROR_BAD_SIZE 1u      /* shorter or longer than its contents */
#define KB_HOST_ERROR_BAD_KIND 2u      /* there is no such record */
#define KB_HOST_ERROR_BAD_FLAGS 3u     /* a reserved bit or byte is not 0 */
#define KB_HOST_ERROR_BAD_OPCODE 4u    /* there is no such op, or not in this kind */
#define KB_HOST_ERROR_BAD_SCOPE 5u     /* there is no such scope, or not for this op */
#define KB_HOST_ERROR_BAD_COUNT 6u     /* a number of operands, extras or ops */
#define KB_HOST_ERROR_BAD_REFERENCE 7u /* a handle that is not in the table */
#define KB_HOST_ERROR_BAD_HANDLE 8u    /* a table entry that is not a tensor */
#define KB_HOST_ERROR_BAD_TEXT 9u      /* a name that is empty, too long, or not printable */
#define KB_HOST_ERROR_BAD_RANGE 10u    /* a range that is empty or reversed */
#define KB_HOST_ERROR_REFUSED 11u      /* well-formed, but not accepted by this PE */
/* Errors of the port. */
#define KB_HOST_ERROR_DOORBELL 64u  /* publishes more bytes than are free, or goes back */
#define KB_HOST_ERROR_TOO_LARGE 65u /* a record larger than the ring */
/* Errors of a running command. */
#define KB_HOST_ERROR_MEMORY 66u       /* the memory has answered with an error */
#define KB_HOST_ERROR_ADDRESS 67u      /* the memory has answered that nothing is there */
#define KB_HOST_ERROR_MESSAGE_SIZE 68u /* the receive differs in size from the message */

/* Handle table: entry i at KB_HOST_TABLE + i * KB_HOST_TABLE_STRIDE. */
#define KB_HOST_TABLE_STRIDE 128u
#define KB_HOST_TABLE_ENTRY_BYTES 80u /* as in a SET_HANDLE record; 0 up to the stride */

#endif
