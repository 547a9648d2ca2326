"""Kernels whose settings depend on how many fields the source has."""

import pytest

from anabranch.errors import ConfigurationError
from pipelines.cli.source import check_source
from pipelines.config import build_job
from tests.config.conftest import Tables


def test_too_few_features_are_refused_once_the_fields_are_known(tables: Tables) -> None:
    tables["learner"] |= {"kernel": "chi-squared", "dimension": 5}
    with pytest.raises(ConfigurationError, match=r"^\[learner\]: too few features: dimension=5"):
        check_source(build_job(tables))
    tables["learner"]["dimension"] = 6
    assert check_source(build_job(tables)).features == ("x1", "x2")
