"""The base of the tools, and the types of their arguments."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from headwater.plugins.agents._reply import Context, undelimited
from headwater.query import parameters
from headwater.query.models import Json

Text = StringConstraints(min_length=1, max_length=1_000)
FromAnswer = AfterValidator(undelimited)
Node = Annotated[
    str,
    Text,
    FromAnswer,
    Field(description="An id (dataset:NAMESPACE:NAME or job:NAMESPACE:NAME) or a short name."),
]
ColumnName = Annotated[str, Text, FromAnswer, Field(description="A column of the dataset.")]
Time = Annotated[
    str, Text, Field(description="A time such as 2026-11-21T08:30:00Z, or the id of a run.")
]
Depth = Annotated[int, Field(ge=1, le=100, description="Maximum number of steps along edges.")]
Level = Annotated[parameters.Level, Field(description="Level of detail of jobs.")]
_CONTROL = get_args(parameters.WithControl)[1]
Control = Annotated[bool, Field(description=_CONTROL)]
Way = Literal["up", "down"]


class Tool(BaseModel):
    """A tool: its fields are the arguments, and its docstring is the description for agents.

    `call` validates the arguments of a call into an instance, and then calls `answer`. `is_writing`
    is true for a tool that stores something.
    """

    model_config = ConfigDict(extra="forbid")
    name: ClassVar[str]
    is_writing: ClassVar[bool] = False

    def answer(self, context: Context) -> Json:
        """Return the answer, made by `reply`.

        Raises NotFoundError if a node in the arguments is unknown.
        """
        raise NotImplementedError
