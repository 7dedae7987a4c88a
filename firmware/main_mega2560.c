/* Hardware of the valve board: Arduino Mega 2560 (16 MHz), six proportional valves, six DP-102A sensors, one supply sensor.
 *
 *   USB (UART0)           Modbus RTU slave, unit 1, 250000 baud 8N1 (0 % clock error at 16 MHz; 115200 has 2 %)
 *   D11 D12 D13 D5 D2 D3  valve set points, PWM 800 Hz, one count = 10 Pa, 10000 = ambient; each through a low-pass into 0..10 V
 *   A0..A5                DP-102A analogue outputs, 1..5 V for -100..+100 kPa, each through a divider to nine tenths, so that
 *                         the converter can still see more than 100 kPa
 *   A6                    supply sensor, 1..5 V for 0..300 kPa, through the same divider
 *   D22                   valve power: high only while not vented. Needs a pull-down, and valves that vent without power:
 *                         during boot and reset every pin floats, and a PWM output at 0 V would mean full vacuum.
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/wdt.h>

#include "board_logic.h"
#include "modbus_rtu.h"

#define UNIT 1
#define BAUD 250000UL
#define FRAME_GAP_TICKS 8       /* at least 1.75 ms, the gap that Modbus gives for every rate above 19200 baud, in ticks of 250 us */
#define TICKS_PER_MS 4
#define PWM_TOP 20000
#define ADC_CHANNELS 7
#define ADC_SAMPLES 16          /* summed: two more bits than the converter has, about 60 Pa */

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
            ADMUX = _BV(REFS0) | channel;
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
    uint16_t counts[BOARD_CHANNELS];
    board_read(board, 6, BOARD_CHANNELS, counts);
    cli();                      /* 16-bit timer registers share one temporary byte with the interrupts */
    OCR1A = counts[0];
    OCR1B = counts[1];
    OCR1C = counts[2];
    OCR3A = counts[3];
    OCR3B = counts[4];
    OCR3C = counts[5];
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
    int32_t sum;
    cli();
    sum = adc_sum[channel];
    sei();
    return (int16_t)(low + (high - low) * (sum - one_volt) / (4 * one_volt));
}

static void measure_and_tick(struct board *board, uint16_t dt_ms)
{
    int16_t pressure[BOARD_CHANNELS];
    uint8_t k;
    for (k = 0; k < BOARD_CHANNELS; k++)
        pressure[k] = sensor(k, -10000, 10000);
    board_tick(board, dt_ms, pressure, sensor(6, 0, 30000));
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
    wdt_enable(WDTO_60MS);      /* a loop that hangs resets the board, and boot is vent */
    board_init(&board);
    start_hardware();
    while (!adc_complete)
        ;                       /* no sensor is judged before it was read once, 13 ms */
    for (;;) {
        wdt_reset();
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
