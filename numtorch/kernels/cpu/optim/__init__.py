"""Optimiser steps over all parameters (optim), and their norm together (total_norm)."""
