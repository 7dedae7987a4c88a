"""Messages accepted from a page; others are refused."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from soft_arm_twin.errors import TwinError

MAX_BYTES = 64 * 1024
MAX_PER_SECOND = 200


class MessageError(TwinError):
    """Malformed message of a page."""


class _Message(BaseModel):
    model_config = ConfigDict(extra='forbid', strict=True, frozen=True)


class Command(_Message):
    """Use a control; the answer carries the same `id`."""

    type: Literal['command']
    id: int = Field(ge=0, lt=2**53)
    control: str = Field(max_length=100)
    value: Any = None  # checked by the control


class Take(_Message):
    """Take control."""

    type: Literal['take']


class Release(_Message):
    """Release control."""

    type: Literal['release']


class Shown(_Message):
    """Acknowledge the frames of this number; newer frames are sent only then."""

    type: Literal['shown']
    number: int = Field(ge=0, lt=2**32)


Message = Command | Take | Release | Shown
_ADAPTER: TypeAdapter[Message] = TypeAdapter(Annotated[Message, Field(discriminator='type')])


def parse(text: str) -> Message:
    """Return the message that a page sent, or raise `MessageError`."""
    try:
        return _ADAPTER.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = '.'.join(str(part)[:40] for part in first['loc'])
        raise MessageError(f'not a message: {place}: {first["msg"][:120]}') from None
