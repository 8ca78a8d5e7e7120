"""The configuration: declared once in `schema`, read from file, environment and options."""

from metatide.config.keys import KEYS, Key
from metatide.config.load import Effective, Setting, load
from metatide.config.options import configured
from metatide.config.schema import Config

__all__ = ["KEYS", "Config", "Effective", "Key", "Setting", "configured", "load"]
