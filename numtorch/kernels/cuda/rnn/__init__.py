"""Recurrent layers: gates (what a step does elementwise), rnn (the time loop)."""
