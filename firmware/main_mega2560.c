/* Hardware of the valve board: Arduino Mega 2560 (16 MHz), for each channel a proportional valve and a DP-102A sensor, one supply sensor.
 *
 *   USB (UART0)           Modbus RTU slave, unit 1, 250000 baud 8N1 (0 % clock error at 16 MHz; 115200 has 2 %)
 *   D11 D12 D13 D5 D2 D3  valve set points, PWM 800 Hz, one count = 10 Pa, 10000 = ambient; each through a low-pass into 0..10 V
 *   D6 D7 D8 D46 D45 D44  set points of channels 6 to 11, if the board has more than six
 *   A0, A1, ..            DP-102A analogue outputs, 1..5 V for -100..+100 kPa, each through a divider to nine tenths, so that
 *                         the converter can still see more than 100 kPa
 *   the pin after them    supply sensor, 1..5 V for 0..300 kPa, through the same divider; A6 of six channels
 *   D22                   valve power: high only while not vented. Needs a pull-down, and valves that vent without power:
 *                         during boot and reset every pin floats, and a PWM output at 0 V would mean full vacuum.
 */
#include <avr/boot.h>
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/wdt.h>
#include <util/delay.h>

#include "board_logic.h"
#include "modbus_rtu.h"

#if BOARD_CHANNELS > 12
#error "the Mega 2560 has 16-bit PWM pins for 12 channels"
#endif

#define UNIT 1
#define BAUD 250000UL
#define FRAME_GAP_TICKS 8       /* at least 1.75 ms, the gap that Modbus gives for every rate above 19200 baud, in ticks of 250 us */
#define TICKS_PER_MS 4
#define PWM_TOP 20000
#define ADC_CHANNELS (BOARD_CHANNELS + 1)
#define ADC_SAMPLES 16          /* summed: two more bits than the converter has, about 60 Pa */
#define BROWN_OUT_LEVEL 7       /* of the extended fuse; all bits set: the detection is off */

static volatile uint8_t received[RTU_FRAME_MAX];
static volatile uint16_t received_length;
static volatile uint8_t gap_ticks, frame_broken;
static volatile uint16_t quarter_ms;
static volatile uint16_t adc_sum[ADC_CHANNELS];
static volatile uint8_t adc_complete;

ISR(USART0_RX_vect)
{
    uint8_t broken = UCSR0A & (_BV(FE0) | _BV(DOR0));
    uint8_t byte = UDR0;
    if (broken || received_length >= RTU_FRAME_MAX)
        frame_broken = 1;
    else
        received[received_length++] = byte;
    gap_ticks = 0;
}

ISR(TIMER2_COMPA_vect)
{
    quarter_ms++;
    if (gap_ticks < 255)
        gap_ticks++;
}

ISR(ADC_vect)
{
    static uint8_t channel, samples, settling = 1;
    static uint16_t sum;
    if (settling)               /* the first conversion after a change of channel still sees the old one */
        settling = 0;
    else {
        sum += ADC;
        if (++samples == ADC_SAMPLES) {
            adc_sum[channel] = sum;
            sum = samples = 0;
            settling = 1;
            channel = channel + 1 < ADC_CHANNELS ? channel + 1 : 0;
            if (channel == 0)
                adc_complete = 1;
            ADMUX = _BV(REFS0) | (channel & 7);
            ADCSRB = channel > 7 ? _BV(MUX5) : 0;
        }
    }
    ADCSRA |= _BV(ADSC);
}

static void start_hardware(void)
{
    DDRA |= _BV(PA0);           /* D22, low: valves unpowered */
    TCCR1A = _BV(COM1A1) | _BV(COM1B1) | _BV(COM1C1) | _BV(WGM11);
    TCCR1B = _BV(WGM13) | _BV(WGM12) | _BV(CS10);
    TCCR3A = _BV(COM3A1) | _BV(COM3B1) | _BV(COM3C1) | _BV(WGM31);
    TCCR3B = _BV(WGM33) | _BV(WGM32) | _BV(CS30);
    ICR1 = ICR3 = PWM_TOP;
    OCR1A = OCR1B = OCR1C = OCR3A = OCR3B = OCR3C = PWM_TOP / 2;
    DDRB |= _BV(PB5) | _BV(PB6) | _BV(PB7);
    DDRE |= _BV(PE3) | _BV(PE4) | _BV(PE5);
#if BOARD_CHANNELS > 6
    TCCR4A = _BV(COM4A1) | _BV(COM4B1) | _BV(COM4C1) | _BV(WGM41);
    TCCR4B = _BV(WGM43) | _BV(WGM42) | _BV(CS40);
    TCCR5A = _BV(COM5A1) | _BV(COM5B1) | _BV(COM5C1) | _BV(WGM51);
    TCCR5B = _BV(WGM53) | _BV(WGM52) | _BV(CS50);
    ICR4 = ICR5 = PWM_TOP;
    OCR4A = OCR4B = OCR4C = OCR5A = OCR5B = OCR5C = PWM_TOP / 2;
    DDRH |= _BV(PH3) | _BV(PH4) | _BV(PH5);
    DDRL |= _BV(PL3) | _BV(PL4) | _BV(PL5);
#endif

    TCCR2A = _BV(WGM21);        /* every 250 us */
    TCCR2B = _BV(CS21) | _BV(CS20);
    OCR2A = F_CPU / 32 / 4000 - 1;
    TIMSK2 = _BV(OCIE2A);

    UBRR0 = F_CPU / 8 / BAUD - 1;
    UCSR0A = _BV(U2X0);
    UCSR0C = _BV(UCSZ01) | _BV(UCSZ00);
    UCSR0B = _BV(RXEN0) | _BV(TXEN0) | _BV(RXCIE0);

    ADMUX = _BV(REFS0);
    ADCSRA = _BV(ADEN) | _BV(ADIE) | _BV(ADPS2) | _BV(ADPS1) | _BV(ADPS0) | _BV(ADSC);
    sei();
}

static void drive_valves(const struct board *board)
{
    static volatile uint16_t *const outputs[] = {&OCR1A, &OCR1B, &OCR1C, &OCR3A, &OCR3B, &OCR3C,
                                                 &OCR4A, &OCR4B, &OCR4C, &OCR5A, &OCR5B, &OCR5C};
    uint16_t counts[BOARD_CHANNELS];
    uint8_t k;
    board_read(board, BOARD_CHANNELS, BOARD_CHANNELS, counts);
    cli();                      /* 16-bit timer registers share one temporary byte with the interrupts */
    for (k = 0; k < BOARD_CHANNELS; k++)
        *outputs[k] = counts[k];
    sei();
    if (board->mode == BOARD_VENT)
        PORTA &= ~_BV(PA0);
    else
        PORTA |= _BV(PA0);
}

/* 1..5 V at the sensor give low..high, both in [10 Pa]; a broken wire reads far below low. */
static int16_t sensor(uint8_t channel, int32_t low, int32_t high)
{
    const int32_t one_volt = 1023L * ADC_SAMPLES * 9 / 50;
    int32_t sum, value;
    cli();
    sum = adc_sum[channel];
    sei();
    value = low + (high - low) * (sum - one_volt) / (4 * one_volt);
    return value > INT16_MAX ? INT16_MAX : (int16_t)value;
}

/* Feeds the hardware watchdog only if every sensor was read since it was fed last: without ticks or measurements the board resets. */
static void measure_and_tick(struct board *board, uint16_t dt_ms)
{
    int16_t pressure[BOARD_CHANNELS];
    uint8_t k, fresh = adc_complete;
    if (fresh)
        adc_complete = 0;
    for (k = 0; k < BOARD_CHANNELS; k++)
        pressure[k] = sensor(k, -10000, 10000);
    board_tick(board, dt_ms, pressure, sensor(BOARD_CHANNELS, 0, 30000));
    if (fresh)
        wdt_reset();
}

static void answer_frame(struct board *board)
{
    static uint8_t frame[RTU_FRAME_MAX], answer[RTU_FRAME_MAX];
    uint16_t length, i;
    cli();
    length = gap_ticks >= FRAME_GAP_TICKS ? received_length : 0;
    for (i = 0; i < length; i++)
        frame[i] = received[i];
    if (length) {
        received_length = 0;
        length = frame_broken ? 0 : length;
        frame_broken = 0;
    }
    sei();
    length = length ? rtu_answer(board, UNIT, frame, length, answer) : 0;
    for (i = 0; i < length; i++) {
        while (!(UCSR0A & _BV(UDRE0)))
            ;                   /* at most 40 us a byte, and the hardware watchdog runs */
        UDR0 = answer[i];
    }
}

int main(void)
{
    static struct board board;
    uint16_t last = 0, now;
    MCUSR = 0;
    wdt_enable(WDTO_60MS);      /* without a tick on new measurements, at most 23 ms apart, the board resets, and boot is vent */
    board_init(&board, (boot_lock_fuse_bits_get(GET_EXTENDED_FUSE_BITS) & BROWN_OUT_LEVEL) != BROWN_OUT_LEVEL);
    start_hardware();
    while (!adc_complete)
        _delay_us(50);          /* no sensor is judged before it was read once, 13 ms */
    for (;;) {
        cli();
        now = quarter_ms;
        sei();
        if ((uint16_t)(now - last) >= TICKS_PER_MS) {
            uint16_t dt_ms = (uint16_t)(now - last) / TICKS_PER_MS;
            last += dt_ms * TICKS_PER_MS;
            measure_and_tick(&board, dt_ms);
        }
        answer_frame(&board);
        drive_valves(&board);
    }
}
