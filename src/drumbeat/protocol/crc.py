"""CRC-32C, from nothing but the extension module of the `crc32c` package.

The package itself asks for its own version when it is imported, and with that for the standard
library's e-mail, zip and more: 6 % of the CPU time that a node's imports take.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import TYPE_CHECKING, Any


def _extension() -> Any:
    """The module that has `crc32c`; the package where it is not built as we know it."""
    package = PathFinder.find_spec("crc32c")
    if "crc32c" not in sys.modules and package is not None:
        places = package.submodule_search_locations
        spec = PathFinder.find_spec("crc32c._crc32c", places)
        if spec is not None and spec.loader is not None:
            extension = module_from_spec(spec)
            spec.loader.exec_module(extension)
            return extension
    import crc32c as whole  # noqa: PLC0415 - see above

    return whole


if TYPE_CHECKING:
    from crc32c import crc32c
else:
    crc32c = _extension().crc32c

__all__ = ["crc32c"]
