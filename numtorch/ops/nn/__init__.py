"""Layers as functions: linear and linear_relu, softmax, norm and batch_norm (native_norm: with their statistics), response_norm and
unit_norm, dropout, embedding, attention and multihead, rnn_layer (one direction of one layer) and rnn."""
