"""Datasets, the order their examples come in, and batches; and a small set of real images to try things on.

dataset      examples by number, or one after another
sampler      in which order they come; distributed, for one of several processes
loader       batches of them
workers      processes that make batches; workerinfo, what one knows of itself
notes        what stands under the message of an error in a dataset
handwritten  the images
"""
from .dataset import ChainDataset, ConcatDataset, Dataset, IterableDataset, StackDataset, Subset, TensorDataset, random_split
from .distributed import DistributedSampler
from .handwritten import digits, digits_split
from .loader import DataLoader, default_collate, default_convert
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler
from .workerinfo import get_worker_info

__all__ = ["BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler", "IterableDataset",
           "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset",
           "WeightedRandomSampler", "default_collate", "default_convert", "digits", "digits_split", "get_worker_info",
           "random_split"]
