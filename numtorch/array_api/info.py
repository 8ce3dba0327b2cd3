"""What the standard lets programs ask of the namespace."""
from __future__ import annotations

from ..devices import device as device_type
from ..devices import get_default_device
from ..dtypes import bool_, complex64, complex128, float64, get_default_dtype, int64
from .promotion import COMPLEX, KINDS, REAL, SIGNED, UNSIGNED


class Information:
    """What `__array_namespace_info__()` gives.

    Example:
        >>> from numtorch import array_api as xp
        >>> xp.__array_namespace_info__().default_device()
        device(type='cpu')
    """

    def capabilities(self) -> dict:
        """What works: indexing by masks, and shapes that depend on values; how many dimensions there may be."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> device_type:
        """The device that arrays are made on."""
        return get_default_device()

    def default_dtypes(self, *, device=None) -> dict:
        """The dtypes that arrays have unless another is asked for.

        Args:
            device: for which device; they are the same on all.
        """
        real = get_default_dtype()
        return {"real floating": real, "complex floating": complex128 if real is float64 else complex64, "integral": int64,
                "indexing": int64}

    def dtypes(self, *, device=None, kind=None) -> dict:
        """The dtypes there are, by their names.

        Args:
            device: for which device; they are the same on all.
            kind: one or several kinds, as for `isdtype`; all when None.

        Raises:
            ValueError: an unknown kind.
        """
        if isinstance(kind, tuple):
            dtypes: dict = {}
            for each in kind:
                dtypes.update(self.dtypes(kind=each))
            return dtypes
        if kind is not None and kind not in KINDS:
            raise ValueError(f"dtypes: unknown kind {kind!r}, expected one of {sorted(KINDS)}")
        kinds = (bool_, *SIGNED, *UNSIGNED, *REAL, *COMPLEX) if kind is None else KINDS[kind]
        return {str(each).removeprefix("torch."): each for each in kinds}

    def devices(self) -> list:
        """The devices there are."""
        return [device_type("cpu")]
