"""Recurrent layers: gates (what a step does elementwise), panels (weights packed), rnn (the time loop)."""
