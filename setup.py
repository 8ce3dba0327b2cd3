"""What pyproject.toml cannot say: packages are found, and the folder `bench` is installed as `numtorch.bench`."""
from setuptools import find_namespace_packages, setup

BENCH = {"numtorch.bench": "bench", "numtorch.bench.runner": "bench/runner"}

setup(packages=find_namespace_packages(include=["numtorch", "numtorch.*"], exclude=["*.__pycache__"]) + list(BENCH), package_dir=BENCH)
