/* Valve board: registers and safety, free of hardware. soft_arm_sim/devices/valve_board.py is the same in Python, and a test sends both
 * the same traffic. Pressures are gauge, in steps of 10 Pa; the register map is pneumatic_driver/maps/valve_board.yaml for six channels,
 * and pneumatic_driver/valve_board_map.py says how it grows with their number. */
#ifndef BOARD_LOGIC_H
#define BOARD_LOGIC_H

#include <stdint.h>

#ifndef BOARD_CHANNELS
#define BOARD_CHANNELS 6
#endif
#if BOARD_CHANNELS < 6 || BOARD_CHANNELS > 14
#error "BOARD_CHANNELS must be 6 to 14"
#endif
#define BOARD_HOLDER_WORDS 10

enum { BOARD_VENT = 0, BOARD_HOLD = 1, BOARD_RUN = 2 };

/* Modbus exception codes; 0 is success. */
enum { MODBUS_OK = 0, MODBUS_ILLEGAL_FUNCTION = 1, MODBUS_ILLEGAL_ADDRESS = 2, MODBUS_ILLEGAL_VALUE = 3, MODBUS_DEVICE_FAILURE = 4,
       MODBUS_BUSY = 6 };

struct board {
    int16_t pressure[BOARD_CHANNELS];  /* [10 Pa] */
    int16_t supply;                    /* [10 Pa] */
    int16_t target[BOARD_CHANNELS];    /* [10 Pa] */
    int32_t drive_pa[BOARD_CHANNELS];  /* what the valves are asked for now */
    uint16_t heartbeat, enable, mode, watchdog_ms, slew_kpa_s;
    uint32_t faults;
    uint16_t overruns;
    uint32_t uptime_ms;
    uint16_t silence_ms;               /* since the holder's last code; BOARD_FREE: nobody holds the board */
    uint16_t key[2], holder[BOARD_HOLDER_WORDS];
    uint16_t supply_ms;                /* outside its range */
    uint8_t brown_out_detection;       /* 0: it is off, and the board stays vented */
    uint16_t over_ms[BOARD_CHANNELS], sensor_ms[BOARD_CHANNELS];
};

#define BOARD_FREE 0xFFFF

/* Boot: everything vented, nothing enabled, nobody holds the board. Without brown-out detection a falling supply voltage can make the
 * processor run wild with powered valves: such a board latches a fault that nobody can clear. */
void board_init(struct board *board, uint8_t brown_out_detection);

/* One pass of the loop: new measurements in [10 Pa], dt_ms since the last pass. */
void board_tick(struct board *board, uint16_t dt_ms, const int16_t pressure[BOARD_CHANNELS], int16_t supply);

/* Registers, as Modbus sees them. Return 0 or a Modbus exception code. A refused write changes nothing, but one that does not come
 * from the host that holds a board which drives its valves: that vents and latches a fault. */
uint8_t board_read(const struct board *board, uint16_t address, uint16_t count, uint16_t *values);
uint8_t board_write(struct board *board, uint16_t address, uint16_t count, const uint16_t *values);

/* A write that is refused before it reaches a register: a function code that the board does not have (no values), or a combined request
 * whose read is refused. If the holder did not send it, it vents and latches as every foreign write. */
void board_refused_write(struct board *board, uint16_t address, uint16_t count, const uint16_t *values);

#endif
