"""Elementwise loops around a formula."""
