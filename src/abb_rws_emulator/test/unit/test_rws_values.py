"""RAPID values and searches for names: what the emulated controller takes and what it refuses."""

import json

import pytest

from abb_rws_emulator.controller.rapid_literals import InvalidLiteral, parse, shape_of, text
from abb_rws_emulator.controller.symbol_pattern import InvalidPattern, SymbolPattern
from emulator_testing.plain_client import refusal_code, serve

pytestmark = pytest.mark.steady_clock


# values


@pytest.mark.parametrize(
    ('data_type', 'literal', 'told'),
    [
        ('num', '4.50', '4.5'),
        ('num', '-.5', '-0.5'),
        ('num', '9e9', '9E+09'),
        ('num', '0x1F', '31'),
        ('num', ' 123456.789 ', '123457'),
        ('dnum', '123456.789', '123456.789'),
        ('bool', 'true', 'TRUE'),
        ('string', '"a""b"', '"a""b"'),
        ('pos', '[ 1 , 2 , 3 ]', '[1,2,3]'),
        (
            'jointtarget',
            '[[0,0,0,0,30,0],[9E9,9e+9,9E09,9E9,9E9,9E9]]',
            '[[0,0,0,0,30,0],[9E+09,9E+09,9E+09,9E+09,9E+09,9E+09]]',
        ),
    ],
)
def test_a_value_is_told_as_the_controller_writes_it(data_type, literal, told):
    shape = shape_of(data_type, (), literal)
    assert text(parse(literal, shape), shape) == told


@pytest.mark.parametrize(
    ('data_type', 'literal'),
    [
        ('num', '1e999'),
        ('num', '1e39'),
        ('dnum', '1e309'),
        ('num', '07'),
        ('num', '1_000'),
        ('num', '１'),
        ('num', 'nan'),
        ('num', 'TRUE'),
        ('num', '1 2'),
        ('num', ''),
        ('num', '[1]'),
        ('bool', '1'),
        ('string', 'a'),
        ('string', '"a'),
        ('string', '"' + 'a' * 81 + '"'),
        ('string', '"\x07"'),
        ('pos', '[1,2]'),
        ('pos', '[1,2,3,4]'),
        ('pos', '[1,2,"3"]'),
        ('pos', '[1,2,3'),
        ('jointtarget', '[[1e999,0,0,0,0,0],[0,0,0,0,0,0]]'),
        ('robtarget', '[[0,0,0],[1,0,0,0],[0,0,0,0]]'),
    ],
)
def test_a_value_that_is_none_of_its_type_is_refused(data_type, literal):
    with pytest.raises(InvalidLiteral):
        parse(literal, shape_of(data_type, (), literal or '0'))


def test_values_are_checked_where_they_are_written():
    async def work(emulator, ask):
        symbol = '/rw/rapid/symbol/data/RAPID/T_ROB1/Module1/'
        for name, literal in (
            ('test_var_num', '1e999'),
            ('test_var_num', '07'),
            ('test_var_str', '"' + 'a' * 81 + '"'),
            ('J_Orientation_Target', '[[1e999,0,0,0,0,0],[0,0,0,0,0,0]]'),
        ):
            status, _, body = await ask('POST', f'{symbol}{name}?action=set', {'value': literal})
            assert status == 400 and refusal_code(body) == -1073445879, literal
        assert (await ask('POST', f'{symbol}test_var_num?action=set', {'value': '1.50'}))[0] == 204
        assert '<span class="value">1.5</span>' in (await ask('GET', f'{symbol}test_var_num'))[2]
        assert (
            await ask(
                'POST', '/rw/rapid/symbol/data?action=validate', {'value': '07', 'datatype': 'num'}
            )
        )[0] == 400

    serve(work)


def test_the_pose_of_a_tool_needs_a_tool():
    async def work(emulator, ask):
        where = '/rw/motionsystem/mechunits/ROB_1/robtarget?json=1&'
        module = (
            'MODULE m\n'
            'PERS tooldata pen:=[TRUE,[[0,0,100],[1,0,0,0]],[0.1,[0,0,1],[1,0,0,0],0,0,0]];\n'
            'ENDMODULE\n'
        )
        await ask('PUT', '/fileservice/$TEMP/m.mod', module)
        await ask('POST', '/rw/rapid/tasks/T_ROB1?action=loadmod', {'modulepath': '$TEMP/m.mod'})
        for query in ('tool=none', 'tool=wobj0', 'wobj=none', 'coordinate=Moon'):
            status, _, body = await ask('GET', where + query)
            assert status == 400 and refusal_code(body) == -1073445879, query
        assert (await ask('POST', '/rw/motionsystem/mechunits/ROB_1?action=set', {'tool': 'none'}))[
            0
        ] == 400

        async def pose(query):
            state = json.loads((await ask('GET', where + query))[2])['_embedded']['_state'][0]
            return [float(state[axis]) for axis in 'xyz']

        assert await pose('tool=tool0&wobj=wobj0&coordinate=Base') == pytest.approx(
            [364.354, 0.0, 594.0], abs=1e-3
        )
        assert await pose('tool=pen') == pytest.approx(
            [364.354 + 86.603, 0.0, 594.0 - 50.0], abs=1e-3
        )  # 100 mm along the flange

    serve(work)


# searches


@pytest.mark.parametrize(
    ('pattern', 'name', 'found'),
    [
        ('', 'any', True),
        ('^test_.*num$', 'Test_var_NUM', True),
        ('reg[1-3]', 'reg4', False),
        ('reg[^1-3]', 'reg4', True),
        (r'^\w+\d{2,}$', 'ab12', True),
        (r'^\w+\d{3}$', 'ab12', False),
        ('a|b(c|d)+', 'xbcd', True),
        ('(?:ab){2}', 'abab', True),
        (r'a\.b', 'acb', False),
    ],
)
def test_names_are_found_by_expressions(pattern, name, found):
    assert SymbolPattern(pattern).found_in(name) is found


@pytest.mark.parametrize(
    'pattern', ['(', ')', '[', '*', 'a**', '\\', r'(a)\1', '(((((a)))))', '(?=a)', 'a' * 101]
)
def test_an_expression_that_is_none_is_refused(pattern):
    with pytest.raises(InvalidPattern):
        SymbolPattern(pattern)
