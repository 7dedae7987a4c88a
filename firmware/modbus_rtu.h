/* Modbus RTU slave, function codes 3, 4, 6, 16 and 23: one frame in, one frame out. */
#ifndef MODBUS_RTU_H
#define MODBUS_RTU_H

#include "board_logic.h"

#define RTU_FRAME_MAX 256

/* Answer a received frame of `length` bytes into `answer` (RTU_FRAME_MAX bytes). Returns the answer's length; 0: say nothing
 * (not for this unit, broken, or a broadcast). */
uint16_t rtu_answer(struct board *board, uint8_t unit, const uint8_t *frame, uint16_t length, uint8_t *answer);

uint16_t rtu_crc(const uint8_t *data, uint16_t length);

#endif
