"""Optimiser steps on a GPU."""
