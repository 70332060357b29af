"""An AWS stand-in: moto's server with the resources of `stand_in_resources`.

Moto's change sets create stacks without outputs; `_apply_with_outputs` adds them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from moto.cloudformation import parsing
from moto.cloudformation.models import ChangeSet
from moto.glue.responses import GlueResponse
from moto.server import ThreadedMotoServer

from tests.infra import stand_in_resources

_apply = ChangeSet.apply


def _apply_with_outputs(change_set: ChangeSet) -> None:
    _apply(change_set)
    stack = change_set.stack
    stack.template, stack.parameters = change_set.template, change_set.parameters
    stack._parse_template()
    stack.output_map = stack._create_output_map()


@contextmanager
def running() -> Iterator[str]:
    """Run the stand-in; yield its URL."""
    for cached in (parsing.get_model_list, parsing.get_model_map, parsing.get_name_type_map):
        cached.cache_clear()
    server = ThreadedMotoServer(port=0, verbose=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ChangeSet, "apply", _apply_with_outputs)
        patch.setattr(GlueResponse, "update_table", stand_in_resources.update_table)
        server.start()
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
        server.stop()
