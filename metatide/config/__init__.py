"""The configuration: declared once in `declared`, read from file, environment and options."""

from metatide.config.declared import Config
from metatide.config.keys import KEYS, Key
from metatide.config.load import Effective, Setting, load
from metatide.config.options import configured

__all__ = ["KEYS", "Config", "Effective", "Key", "Setting", "configured", "load"]
