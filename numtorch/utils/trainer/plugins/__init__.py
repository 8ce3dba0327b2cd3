"""What watches and steers a run of the `Trainer`.

plugin      `Plugin`, and `PluginFactory` of a function
monitor     numbers of each iteration with their averages: loss, accuracy, time, progress, constants
validation  loss and metrics on other examples
logger      lines, CSV files and TensorBoard
bar         the progress bar of a terminal or notebook
curves      a picture of what was measured
steering    early stopping, learning-rate schedules
saver       checkpoints
"""
from .bar import ProgressBar
from .curves import Curves
from .logger import CSVLogger, Logger, TensorBoardLogger
from .monitor import AccuracyMonitor, ConstantMonitor, LossMonitor, Monitor, ProgressMonitor, TimeMonitor
from .plugin import Plugin, PluginFactory
from .saver import Saver
from .steering import EarlyStopping, Schedule
from .validation import Validation

__all__ = ["AccuracyMonitor", "CSVLogger", "ConstantMonitor", "Curves", "EarlyStopping", "Logger", "LossMonitor", "Monitor",
           "Plugin", "PluginFactory", "ProgressBar", "ProgressMonitor", "Saver", "Schedule", "TensorBoardLogger", "TimeMonitor",
           "Validation"]
