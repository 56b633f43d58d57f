"""The golden files are what the code makes of them."""

import pytest

from ..accept import ADVICE, GOLDEN, Golden
from .imports import ROOT


@pytest.mark.parametrize("golden", GOLDEN, ids=[str(golden.path.relative_to(ROOT)) for golden in GOLDEN])
def test_a_golden_file_is_what_the_code_makes_of_it(golden: Golden) -> None:
    text = golden.path.read_text("utf-8")
    assert golden.renew(text) == text, ADVICE
