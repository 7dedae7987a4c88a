/* Stands for the headers of avr-libc: main_mega2560.c with the timer, the converter, the UART and the hardware watchdog of the Mega, on the
 * machine that tests. Time passes at each sei() and _delay_us(). */
#ifndef MEGA_H
#define MEGA_H

#include <setjmp.h>
#include <stdint.h>

#define ISR(vector) void vector(void)
#define _BV(bit) (1u << (bit))
#define main firmware_main
#define cli()
#define sei() pass(10)
#define _delay_us(us) pass(us)
#define wdt_reset() (fed_us = now_us)
#define WDTO_60MS 60000
#define wdt_enable(us) (fed_us = now_us, watchdog_us = (us))
#define GET_EXTENDED_FUSE_BITS 2
#define boot_lock_fuse_bits_get(address) extended_fuse
#define UDR0 (*uart())

enum { PA0, PB5 = 5, PB6, PB7, PE3 = 3, PE4, PE5 };
enum { COM1A1, COM1B1, COM1C1, WGM11, COM3A1, COM3B1, COM3C1, WGM31 };
enum { WGM13, WGM12, CS10, WGM33, WGM32, CS30, CS20, CS21 };
enum { WGM21, OCIE2A, U2X0, UCSZ01, UCSZ00, RXEN0, TXEN0, RXCIE0 };
enum { FE0, DOR0, UDRE0, MUX5 };
enum { ADPS0, ADPS1, ADPS2, ADIE, ADEN, ADSC, REFS0 };

static volatile uint8_t UCSR0A = _BV(UDRE0), UCSR0B, UCSR0C, ADMUX, ADCSRA, ADCSRB, DDRA, DDRB, DDRE, PORTA, MCUSR;
static volatile uint8_t TCCR1A, TCCR1B, TCCR2A, TCCR2B, TCCR3A, TCCR3B, OCR2A, TIMSK2;
static volatile uint16_t ADC, UBRR0, ICR1, ICR3;
static volatile uint16_t OCR1A, OCR1B, OCR1C, OCR3A, OCR3B, OCR3C, OCR4A, OCR4B, OCR4C, OCR5A, OCR5B, OCR5C;

void TIMER2_COMPA_vect(void);
void ADC_vect(void);
void USART0_RX_vect(void);

/* The test sets these. */
uint8_t extended_fuse = 0xFC, request[256], answer[256];
uint16_t converted[16], request_length, answer_length;
uint32_t timer_stops_us = UINT32_MAX, adc_stops_us = UINT32_MAX;

static uint32_t now_us, timer_us, adc_us, fed_us, watchdog_us, end_us;
static volatile uint8_t *incoming;
static jmp_buf ended;

static volatile uint8_t *uart(void)
{
    return incoming ? incoming : &answer[answer_length++];
}

static void pass(uint32_t us)
{
    uint16_t i;
    now_us += us;
    if (now_us >= end_us || now_us - fed_us >= watchdog_us)
        longjmp(ended, 1);
    if (now_us - timer_us >= 250 && now_us < timer_stops_us) {
        timer_us += 250;
        TIMER2_COMPA_vect();
    }
    if (now_us - adc_us >= 104 && now_us < adc_stops_us) {
        adc_us = now_us;
        ADC = converted[ADMUX & 7];
        ADC_vect();
    }
    if (now_us >= 50000 && request_length) {
        for (i = 0; i < request_length; i++) {
            incoming = &request[i];
            USART0_RX_vect();
        }
        incoming = 0;
        request_length = 0;
    }
}

int firmware_main(void);

/* Boots and runs for a time [us], a request comes at 50 ms; returns when the watchdog reset the board, or the end. */
uint32_t run(uint32_t for_us)
{
    end_us = for_us;
    if (!setjmp(ended))
        firmware_main();
    return now_us;
}

#endif
