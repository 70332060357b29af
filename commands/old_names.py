"""Support for settings under the lineage server's old name."""

from __future__ import annotations

import os
from contextlib import suppress

import yaml

from commands.output import say
from headwater_client.old_name import adopt
from lakehouse.errors import SettingsError
from lakehouse.setting_sources import new_name, old_names, settings_file


def report_old_names() -> None:
    """Use variables given by their old names; report these and old names in the settings file."""
    if message := adopt(os.environ):
        say(message, is_error=True)
    with suppress(SettingsError, yaml.YAMLError, ValueError):  # the command reports them
        for name in old_names():
            say(f"{settings_file()}: rename {name} to {new_name(name)}", is_error=True)
