"""Files as models; errors name the place, the value received and the allowed keys."""

from __future__ import annotations

import difflib
import json
from typing import Annotated, Any, TypeVar

from annotated_types import MinLen
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from headwater.config import expected
from headwater.errors import ConfigError, shown

Text = Annotated[str, MinLen(1)]
T = TypeVar("T", bound=BaseModel)


class Document(BaseModel):
    """An object of a file, with only known keys."""

    model_config = ConfigDict(strict=True, frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _check_keys(cls, value: object) -> object:
        """Raise ValueError, as pydantic expects, if a value is no object or has an unknown key."""
        allowed = ", ".join(cls.model_fields)
        if not isinstance(value, dict):
            raise ValueError(f"received {shown(value)}, expected an object of {allowed}")
        for key in value:
            if key not in cls.model_fields:
                near = difflib.get_close_matches(str(key), cls.model_fields, n=1)
                hint = f" (did you mean {near[0]!r}?)" if near else ""
                raise ValueError(f"received the key {key!r}, expected only {allowed}{hint}")
        return value


def validated(model: type[T], body: object, name: str) -> T:
    """Return a decoded file as a model; `name` is the whole in errors. Raises ConfigError."""
    try:
        return model.model_validate(body)
    except ValidationError as error:
        first = error.errors()[0]
        place = ""
        for part in first["loc"]:
            place += f"[{part}]" if isinstance(part, int) else f".{part}" if part != "[key]" else ""
        reason = expected(first)
        for noun in ("String", "List"):
            reason = reason.replace(f"{noun} should have", f"expected a {noun.lower()} of")
        if first["type"] != "value_error":  # the message already contains the value received
            reason = f"received {shown(first['input'])}, {reason}"
        raise ConfigError(f"{place.lstrip('.') or name}: {reason}") from None


def decoded(text: str, name: str) -> Any:
    """Return the value of a parameter that is JSON. Raises ConfigError if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{name}: received {text[:80]!r}, expected JSON ({error})") from None
