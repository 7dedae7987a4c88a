#include "board_logic.h"

/* State: pressures, drives, status, faults, uptime, heartbeat, overruns, supply, map_id. One fault for the pressure and one for the
 * sensor of every channel, and four of the board: the faults are one word or, high word first, two. */
#define FAULT_WORDS (2 * BOARD_CHANNELS + 4 > 16 ? 2 : 1)
#define STATUS (2 * BOARD_CHANNELS)
#define STATE_COUNT (STATUS + FAULT_WORDS + 6)
#define SETTINGS_START 100
#define SETTINGS_COUNT (BOARD_CHANNELS + 18)
#define MAP_ID (0x5B00 | BOARD_CHANNELS)
#define FAULT_CLEAR_KEY 0xA55A

#define TARGET_LIMIT 10000      /* 100 kPa */
#define PRESSURE_LIMIT 10500    /* 105 kPa: cut above; below -105 kPa no gas can be, so the sensor or its wire is broken */
#define PRESSURE_LIMIT_MS 15
#define SUPPLY_MIN 12000        /* 120 kPa */
#define SUPPLY_MAX 31000        /* 310 kPa: more than the sensor can measure, so it or its wire is broken, or the pressure is unknown */
#define SUPPLY_LIMIT_MS 100
#define TICK_BUDGET_MS 20

#define FAULT_SENSOR_SHIFT BOARD_CHANNELS
#define FAULT_WATCHDOG (1ul << 2 * BOARD_CHANNELS)
#define FAULT_SUPPLY (2ul << 2 * BOARD_CHANNELS)
#define FAULT_FOREIGN_MASTER (4ul << 2 * BOARD_CHANNELS)
#define FAULT_BROWN_OUT_DETECTION_OFF (8ul << 2 * BOARD_CHANNELS)

/* Settings after the targets; the session, key and holder, is written as one block. */
enum { HEARTBEAT = BOARD_CHANNELS, ENABLE, MODE, WATCHDOG, FAULT_CLEAR, SLEW, KEY, HOLDER = KEY + 2 };
#define SESSION_WORDS (SETTINGS_COUNT - KEY)

#define CODES_AHEAD 6           /* as many requests can be lost within the watchdog's time */

static uint16_t add_saturating(uint16_t value, uint16_t more)
{
    return value > 0xFFFFu - more ? 0xFFFFu : value + more;
}

static void vent(struct board *board)
{
    uint8_t k;
    board->mode = BOARD_VENT;
    board->enable = 0;
    for (k = 0; k < BOARD_CHANNELS; k++) {
        board->target[k] = 0;
        board->drive_pa[k] = 0;
    }
}

static void release(struct board *board)
{
    uint8_t k;
    board->silence_ms = BOARD_FREE;
    board->key[0] = board->key[1] = 0;
    for (k = 0; k < BOARD_HOLDER_WORDS; k++)
        board->holder[k] = 0;
}

/* Clears what was latched; a fault whose cause persists is latched again by the next tick, the missing detection at once. */
static void clear_faults(struct board *board)
{
    board->faults = board->brown_out_detection ? 0 : FAULT_BROWN_OUT_DETECTION_OFF;
}

void board_init(struct board *board, uint8_t brown_out_detection)
{
    *board = (struct board){.watchdog_ms = 300, .slew_kpa_s = 2000, .brown_out_detection = brown_out_detection};
    clear_faults(board);
    vent(board);
    release(board);
}

static void check_measurements(struct board *board, uint16_t dt_ms)
{
    uint8_t k;
    for (k = 0; k < BOARD_CHANNELS; k++) {
        board->over_ms[k] = board->pressure[k] > PRESSURE_LIMIT ? add_saturating(board->over_ms[k], dt_ms) : 0;
        board->sensor_ms[k] = board->pressure[k] < -PRESSURE_LIMIT ? add_saturating(board->sensor_ms[k], dt_ms) : 0;
        if (board->over_ms[k] >= PRESSURE_LIMIT_MS)
            board->faults |= 1ul << k;
        if (board->sensor_ms[k] >= PRESSURE_LIMIT_MS)
            board->faults |= 1ul << (FAULT_SENSOR_SHIFT + k);
    }
    const uint8_t in_range = board->supply >= SUPPLY_MIN && board->supply <= SUPPLY_MAX;
    board->supply_ms = board->mode != BOARD_VENT && !in_range ? add_saturating(board->supply_ms, dt_ms) : 0;
    if (board->supply_ms >= SUPPLY_LIMIT_MS)
        board->faults |= FAULT_SUPPLY;
}

static void move_drives(struct board *board, uint16_t dt_ms)
{
    const int32_t step_pa = (int32_t)board->slew_kpa_s * dt_ms;   /* kPa/s times ms is Pa */
    uint8_t k;
    for (k = 0; k < BOARD_CHANNELS; k++) {
        int32_t error_pa = 10 * (int32_t)board->target[k] - board->drive_pa[k];
        if (board->mode == BOARD_VENT || !(board->enable >> k & 1))
            board->drive_pa[k] = 0;
        else if (board->mode == BOARD_RUN)
            board->drive_pa[k] += error_pa > step_pa ? step_pa : error_pa < -step_pa ? -step_pa : error_pa;
    }
}

void board_tick(struct board *board, uint16_t dt_ms, const int16_t pressure[BOARD_CHANNELS], int16_t supply)
{
    uint8_t k;
    board->uptime_ms += dt_ms;
    if (dt_ms > TICK_BUDGET_MS)
        board->overruns = add_saturating(board->overruns, 1);
    for (k = 0; k < BOARD_CHANNELS; k++)
        board->pressure[k] = pressure[k];
    board->supply = supply;
    check_measurements(board, dt_ms);
    if (board->silence_ms != BOARD_FREE)
        board->silence_ms = add_saturating(board->silence_ms, dt_ms);
    if (board->silence_ms != BOARD_FREE && board->silence_ms >= board->watchdog_ms) {
        if (board->mode != BOARD_VENT)
            board->faults |= FAULT_WATCHDOG;
        release(board);
    }
    if (board->faults)
        vent(board);
    move_drives(board, dt_ms);
}

static uint16_t state(const struct board *board, uint16_t address)
{
    if (address < BOARD_CHANNELS)
        return (uint16_t)board->pressure[address];
    if (address < STATUS)
        return (uint16_t)((board->drive_pa[address - BOARD_CHANNELS] + 100000) / 10);
    if (address == STATUS)
        return (board->mode == BOARD_RUN) | (board->mode == BOARD_HOLD) << 1 | (board->faults != 0) << 2 |
               (board->silence_ms != BOARD_FREE) << 3;
    if (address < STATUS + FAULT_WORDS)
        return (uint16_t)(board->faults >> 16);
    switch (address - STATUS - FAULT_WORDS) {
    case 0: return (uint16_t)board->faults;
    case 1: return (uint16_t)(board->uptime_ms / 1000);
    case 2: return board->heartbeat;
    case 3: return board->overruns;
    case 4: return (uint16_t)board->supply;
    default: return MAP_ID;
    }
}

static uint16_t setting(const struct board *board, uint16_t index)
{
    if (index < HEARTBEAT)
        return (uint16_t)board->target[index];
    if (index >= HOLDER)
        return board->holder[index - HOLDER];
    switch (index) {
    case HEARTBEAT: return board->heartbeat;
    case ENABLE: return board->enable;
    case MODE: return board->mode;
    case WATCHDOG: return board->watchdog_ms;
    case SLEW: return board->slew_kpa_s;
    default: return 0;   /* keys are never read back */
    }
}

uint8_t board_read(const struct board *board, uint16_t address, uint16_t count, uint16_t *values)
{
    uint16_t i;
    if (count < 1 || count > 125)
        return MODBUS_ILLEGAL_VALUE;
    if (address < STATE_COUNT && count <= STATE_COUNT - address) {
        for (i = 0; i < count; i++)
            values[i] = state(board, address + i);
        return MODBUS_OK;
    }
    if (address >= SETTINGS_START && address < SETTINGS_START + SETTINGS_COUNT && count <= SETTINGS_START + SETTINGS_COUNT - address) {
        for (i = 0; i < count; i++)
            values[i] = setting(board, address - SETTINGS_START + i);
        return MODBUS_OK;
    }
    return MODBUS_ILLEGAL_ADDRESS;
}

static uint8_t refuse(const struct board *board, uint16_t index, uint16_t value)
{
    if (index < HEARTBEAT)
        return (int16_t)value > TARGET_LIMIT || (int16_t)value < -TARGET_LIMIT ? MODBUS_ILLEGAL_VALUE : MODBUS_OK;
    switch (index) {
    case ENABLE: return value >= 1u << BOARD_CHANNELS ? MODBUS_ILLEGAL_VALUE : MODBUS_OK;
    case MODE: return value > BOARD_RUN ? MODBUS_ILLEGAL_VALUE : value != BOARD_VENT && (board->faults || board->silence_ms == BOARD_FREE) ? MODBUS_DEVICE_FAILURE : MODBUS_OK;
    case WATCHDOG: return value < 50 || value > 300 ? MODBUS_ILLEGAL_VALUE : MODBUS_OK;
    case FAULT_CLEAR: return value != FAULT_CLEAR_KEY ? MODBUS_ILLEGAL_VALUE : MODBUS_OK;
    case SLEW: return value < 1 || value > 5000 ? MODBUS_ILLEGAL_VALUE : MODBUS_OK;
    case HEARTBEAT: return MODBUS_OK;
    default: return MODBUS_ILLEGAL_ADDRESS;   /* a part of the session */
    }
}

static void set_mode(struct board *board, uint16_t mode)
{
    uint16_t enable = board->enable;
    if (mode == BOARD_VENT || board->mode == BOARD_VENT) {
        vent(board);   /* leaving vent starts from ambient: no earlier set point comes back */
        board->enable = mode == BOARD_VENT ? 0 : enable;
    }
    board->mode = mode;
}

/* Who wants to run the board claims it first, with a key that only he knows and a name that all can read. */
static uint8_t claim(struct board *board, const uint16_t *values)
{
    uint8_t k;
    if (board->silence_ms != BOARD_FREE)
        return MODBUS_BUSY;
    board->key[0] = values[0];
    board->key[1] = values[1];
    for (k = 0; k < BOARD_HOLDER_WORDS; k++)
        board->holder[k] = values[2 + k];
    board->heartbeat = board->silence_ms = 0;
    return MODBUS_OK;
}

/* The code that the holder's next write carries as its heartbeat: a full-period congruential generator that his key chooses. */
static uint16_t next_code(const struct board *board, uint16_t code)
{
    const uint16_t multiplier = (board->key[0] & 0xFFF8u) | 5, increment = board->key[1] | 1;
    return (uint16_t)((uint32_t)code * multiplier + increment);
}

static uint8_t from_holder(const struct board *board, uint16_t address, uint16_t count, const uint16_t *values)
{
    const uint16_t heartbeat_address = SETTINGS_START + HEARTBEAT;
    uint16_t code = board->heartbeat;
    uint8_t k;
    if (address > heartbeat_address || count <= heartbeat_address - address)
        return 0;
    for (k = 0; k < CODES_AHEAD; k++) {
        code = next_code(board, code);
        if (values[heartbeat_address - address] == code)
            return 1;
    }
    return 0;
}

/* Mode VENT, alone or with enable 0: obeyed from every client. */
static uint8_t only_vents(uint16_t address, uint16_t count, const uint16_t *values)
{
    const uint16_t mode_address = SETTINGS_START + MODE;
    return (address == mode_address && count == 1 && !values[0]) ||
           (address == mode_address - 1 && count == 2 && !values[0] && !values[1]);
}

static uint8_t foreign_write(struct board *board, uint16_t address, uint16_t count, const uint16_t *values)
{
    if (board->mode != BOARD_VENT) {
        board->faults |= FAULT_FOREIGN_MASTER;
        vent(board);
    }
    return only_vents(address, count, values) ? MODBUS_OK : MODBUS_BUSY;
}

void board_refused_write(struct board *board, uint16_t address, uint16_t count, const uint16_t *values)
{
    if (board->silence_ms != BOARD_FREE && !from_holder(board, address, count, values))
        foreign_write(board, address, count, values);
}

uint8_t board_write(struct board *board, uint16_t address, uint16_t count, const uint16_t *values)
{
    uint16_t i;
    if (count < 1 || count > 123)
        return MODBUS_ILLEGAL_VALUE;
    if (address == SETTINGS_START + KEY && count == SESSION_WORDS)
        return claim(board, values);
    if (board->silence_ms != BOARD_FREE && !from_holder(board, address, count, values))
        return foreign_write(board, address, count, values);
    if (address < SETTINGS_START || address >= SETTINGS_START + SETTINGS_COUNT || count > SETTINGS_START + SETTINGS_COUNT - address)
        return MODBUS_ILLEGAL_ADDRESS;
    address -= SETTINGS_START;
    for (i = 0; i < count; i++) {
        uint8_t code = refuse(board, address + i, values[i]);
        if (code)
            return code;
    }
    for (i = 0; i < count; i++) {
        uint16_t index = address + i, value = values[i];
        if (index < HEARTBEAT)
            board->target[index] = (int16_t)value;
        else if (index == HEARTBEAT) {
            board->silence_ms = board->silence_ms != BOARD_FREE ? 0 : BOARD_FREE;
            board->heartbeat = value;
        } else if (index == ENABLE)
            board->enable = value;
        else if (index == MODE)
            set_mode(board, value);
        else if (index == WATCHDOG)
            board->watchdog_ms = value;
        else if (index == FAULT_CLEAR)
            clear_faults(board);
        else if (index == SLEW)
            board->slew_kpa_s = value;
    }
    return MODBUS_OK;
}
