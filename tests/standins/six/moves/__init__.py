"""Names that have moved."""
import urllib.request

__all__ = ["urllib"]
