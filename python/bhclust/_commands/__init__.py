"""The commands of the command line; imported only where click and rich are there."""

from .main import run as run
