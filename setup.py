"""What pyproject.toml cannot say: packages are found, and the folder `bench` is installed as `numtorch.bench`."""
from setuptools import find_namespace_packages, setup

BENCH = {"numtorch.bench": "bench", "numtorch.bench.runner": "bench/runner", "numtorch.bench.device": "bench/device"}

PACKAGES = find_namespace_packages(include=["numtorch", "numtorch.*"], exclude=["*.__pycache__"])

setup(packages=PACKAGES + list(BENCH), package_dir=BENCH)
