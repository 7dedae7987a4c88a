import pytest

from pneumatic_driver.command_arbiter import MAX_COMMAND_AGE_S, CommandArbiter, check_age
from pneumatic_driver.errors import CommandError


def test_one_source_commands_until_it_has_been_silent():
    arbiter = CommandArbiter(0.3)
    for now_s in (1.0, 1.2):
        arbiter.check('/a 1', now_s)
        arbiter.accepted('/a 1', now_s)
    for other in ('/b 2', ''):
        with pytest.raises(CommandError, match="while '/a 1' does"):
            arbiter.check(other, 1.4)
    arbiter.check('/b 2', 1.51)
    arbiter.accepted('/b 2', 1.51)
    with pytest.raises(CommandError, match="while '/b 2' does"):
        arbiter.check('/a 1', 1.6)


def test_a_command_that_was_not_accepted_holds_nothing():
    arbiter = CommandArbiter(0.3)
    arbiter.check('/a 1', 1.0)
    arbiter.check('/b 2', 1.0)


def test_commands_that_may_be_a_recording_are_refused():
    for age_s in (0.0, MAX_COMMAND_AGE_S, -MAX_COMMAND_AGE_S):
        check_age(age_s)
    for age_s, words in ((None, 'no stamp'), (3.0, '3.0 s old'), (-3600.0, '3600.0 s ahead')):
        with pytest.raises(CommandError, match=words):
            check_age(age_s)
