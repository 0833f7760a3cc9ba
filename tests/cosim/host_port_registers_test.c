/* SPDX-License-Identifier: Apache-2.0 */
#include "tlm_if/host_port_registers.h"

unsigned host_port_id(void);
unsigned host_port_irq_bits(void);

unsigned host_port_id(void) { return KB_HOST_ID_VALUE; }

unsigned host_port_irq_bits(void) {
  return KB_HOST_IRQ_DONE | KB_HOST_IRQ_ERROR | KB_HOST_IRQ_SPACE;
}
