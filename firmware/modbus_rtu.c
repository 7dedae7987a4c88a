#include "modbus_rtu.h"

uint16_t rtu_crc(const uint8_t *data, uint16_t length)
{
    uint16_t crc = 0xFFFF, i;
    uint8_t bit;
    for (i = 0; i < length; i++) {
        crc ^= data[i];
        for (bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0xA001 : crc >> 1;
    }
    return crc;
}

static uint16_t word(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static void put_word(uint8_t *bytes, uint16_t value)
{
    bytes[0] = value >> 8;
    bytes[1] = value & 0xFF;
}

/* Unless `refused` is an exception code already. */
static uint8_t write_words(struct board *board, uint16_t address, uint16_t count, const uint8_t *bytes, uint8_t refused)
{
    uint16_t values[123], i;
    if (count < 1 || count > 123)
        return MODBUS_ILLEGAL_VALUE;
    for (i = 0; i < count; i++)
        values[i] = word(bytes + 2 * i);
    if (refused)
        board_refused_write(board, address, count, values);
    return refused ? refused : board_write(board, address, count, values);
}

/* Reads into the answer: byte count, then words. Adds what it wrote to *length. */
static uint8_t read_words(const struct board *board, uint16_t address, uint16_t count, uint8_t *answer, uint16_t *length)
{
    uint16_t values[125], i;
    uint8_t code = board_read(board, address, count, values);
    if (code)
        return code;
    answer[2] = (uint8_t)(2 * count);
    for (i = 0; i < count; i++)
        put_word(answer + 3 + 2 * i, values[i]);
    *length = 3 + 2 * count;
    return MODBUS_OK;
}

/* `frame` without its CRC. */
static uint8_t execute(struct board *board, const uint8_t *frame, uint16_t length, uint8_t *answer, uint16_t *answer_length)
{
    uint8_t code, i;
    switch (frame[1]) {
    case 3:
    case 4:
        return length == 6 ? read_words(board, word(frame + 2), word(frame + 4), answer, answer_length) : MODBUS_ILLEGAL_VALUE;
    case 6:
    case 16:
        if (frame[1] == 6 ? length != 6 : (length < 7 || frame[6] != length - 7 || frame[6] != 2 * word(frame + 4)))
            return MODBUS_ILLEGAL_VALUE;
        code = frame[1] == 6 ? write_words(board, word(frame + 2), 1, frame + 4, MODBUS_OK)
                             : write_words(board, word(frame + 2), word(frame + 4), frame + 7, MODBUS_OK);
        for (i = 2; i < 6; i++)
            answer[i] = frame[i];
        *answer_length = 6;
        return code;
    case 23:
        if (length < 11 || frame[10] != length - 11 || frame[10] != 2 * word(frame + 8))
            return MODBUS_ILLEGAL_VALUE;
        code = read_words(board, word(frame + 2), word(frame + 4), answer, answer_length);   /* refused as a whole, or not at all */
        code = write_words(board, word(frame + 6), word(frame + 8), frame + 11, code);
        return code ? code : read_words(board, word(frame + 2), word(frame + 4), answer, answer_length);
    case 5:
    case 15:
    case 22:
        board_refused_write(board, 0, 0, 0);
        return MODBUS_ILLEGAL_FUNCTION;
    default:
        return MODBUS_ILLEGAL_FUNCTION;
    }
}

uint16_t rtu_answer(struct board *board, uint8_t unit, const uint8_t *frame, uint16_t length, uint8_t *answer)
{
    uint16_t answer_length = 3, crc;
    uint8_t code;
    if (length < 4 || length > RTU_FRAME_MAX || (frame[0] != unit && frame[0] != 0))
        return 0;
    crc = rtu_crc(frame, length - 2);
    if (frame[length - 2] != (crc & 0xFF) || frame[length - 1] != crc >> 8)
        return 0;
    answer[0] = frame[0];
    answer[1] = frame[1];
    code = execute(board, frame, length - 2, answer, &answer_length);
    if (frame[0] == 0)
        return 0;
    if (code) {
        answer[1] = frame[1] | 0x80;
        answer[2] = code;
        answer_length = 3;
    }
    crc = rtu_crc(answer, answer_length);
    answer[answer_length] = crc & 0xFF;
    answer[answer_length + 1] = crc >> 8;
    return answer_length + 2;
}
