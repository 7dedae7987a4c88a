"""One line and exit code 2 for whatever is wrong; numbers such as -3e4 are values."""

import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from soft_arm_io.command_line import (
    LINE_LIMIT,
    CommandLine,
    finite_number,
    input_file,
    number_in,
    one_line,
    output_file,
    output_folder,
    seed_number,
    uninterrupted,
)


class Known(ValueError):
    pass


def make() -> CommandLine:
    parser = CommandLine(prog='softarm x')
    parser.add_argument('--at', type=finite_number, nargs='+')
    parser.add_argument('--share', type=number_in(0.0, 1.0))
    parser.add_argument('--seed', type=seed_number)
    parser.add_argument('--data', type=input_file)
    parser.add_argument('--plot', type=output_file('.png'))
    parser.add_argument('--out', type=output_folder)
    return parser


def act(options) -> int:
    if options.seed == 7:
        raise Known('seven\nis ' + 9 * 'too much ' + 1000 * '7')
    if options.seed == 8:
        Path('/nowhere/file').read_text()
    if options.seed == 9:
        raise ValueError('a fault of ours')
    return 0


@pytest.mark.parametrize(
    'argv, words',
    [
        (['--nothing'], '--nothing'),
        (['\n\0'], 'unrecognized'),
        (['--seed'], '--seed: expected one argument'),
        (['--seed', '-1'], '-1 must be at least 0'),
        (['--seed', '9' * 5000], '--seed'),
        (['--seed', '1e3'], 'not a whole number'),
        (['--share', '1.5'], '1.5 must be at most 1'),
        (['--share', 'nan'], "'nan' is not a finite number"),
        (['--at', '0', '-inf'], "'-inf' is not a finite number"),
        (['--data', '/nowhere'], 'No such file'),
        (['--data', '/'], 'is a folder'),
        (['--data', 'x' * 5000], 'No such file'),
        (['--plot', '/nowhere/x.png'], "'/nowhere' does not exist"),
        (['--plot', 'x.foo'], 'must end in .png'),
        (['--plot', ''], 'give a file'),
        (['--out', ''], 'is not a folder'),
        (['--out', '/dev/null/x'], 'no folder can be made'),
        (['--out', 'x' * 300], 'no folder can be made'),
        (['--seed', '7'], 'seven is too much'),
        (['--seed', '8'], '/nowhere/file: No such file'),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(argv, words, capsys):
    assert make().answer(argv, act, Known) == 2
    output = capsys.readouterr()
    assert output.out == '' and output.err.count('\n') == 1 and len(output.err) <= LINE_LIMIT + 1
    assert words in output.err


def test_faults_of_ours_are_not_hidden():
    with pytest.raises(ValueError, match='ours'):
        make().answer(['--seed', '9'], act, Known)


def test_help_shows_the_default_of_an_option(capsys):
    parser = CommandLine(prog='softarm x')
    parser.add_option('--count', int, 3, 'how many', metavar='N')
    parser.add_option('--kind', ('one', 'two'), 'one', 'which')
    parser.add_flag('--apply', 'save it')
    assert vars(parser.parse_args([])) == {'count': 3, 'kind': 'one', 'apply': False}
    given = parser.parse_args(['--count', '4', '--kind', 'two', '--apply'])
    assert vars(given) == {'count': 4, 'kind': 'two', 'apply': True}
    assert parser.answer(['--kind', 'three'], act) == 2
    assert parser.answer(['--help'], act) == 0
    assert 'how many (default: 3)' in capsys.readouterr().out


def test_numbers_are_values():
    words = ['--at', '-3e4', '-.5', '-1E-3', '0']
    assert make().parse_args(words).at == [-3e4, -0.5, -1e-3, 0.0]


def test_long_text_keeps_its_beginning_and_its_end():
    line = one_line('value ' + 200 * 'long ' + 'remedy')
    assert len(line) <= LINE_LIMIT and line.startswith('value') and line.endswith('remedy')


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_a_library_would_swallow_is_held_back(number):
    before = signal.signal(number, signal.default_int_handler)
    swallowed = []
    try:
        with pytest.raises(KeyboardInterrupt), uninterrupted():
            try:
                signal.raise_signal(number)
            except BaseException as error:
                swallowed.append(error)
        assert not swallowed
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, before)


def test_in_another_thread_nothing_is_held_back():
    def act():
        with uninterrupted():
            return signal.getsignal(signal.SIGINT)

    with ThreadPoolExecutor() as pool:
        assert pool.submit(act).result() is signal.getsignal(signal.SIGINT)
